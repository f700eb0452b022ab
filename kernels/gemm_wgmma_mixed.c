/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of sett_gemm_wgmma with packed weights: threads decode them to registers, which are the A of the instruction, while the tensor
 * core works on the K tile before. docs/products.md says how they are packed. */
#include "gemm_wgmma.h"

/* ---- options ------------------------------------------------------------------------------------------- */
void sett__wgmma_check_packed(sett_gemm_wgmma_options *o, choice *c)
{
    sett__check_weights(&(weights_options){o->dtype, o->b, &o->sw, &o->group, o->zeros}, c);
    const struct {
        const char *name;
        int value;
    } none[] = {{"promote", o->promote}, {"block_scales", o->block_scales}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (none[i].value)
            REFUSE(c, ".b is %s of .dtype %s, packed weights: then .%s is 0", sett_dtype_name(o->b), sett_dtype_name(o->dtype), none[i].name);
    if (o->tuning.cluster == 2)
        REFUSE(c, ".cluster is 2: of packed weights it is 1");
}

/* ---- shared memory and loads ---------------------------------------------------------------------------- */
static int rows_of_scales(const sett_gemm_wgmma_options *o)
{
    return ROWS * (1 + o->zeros);
}

static int bytes_of_scales(const sett_gemm_wgmma_options *o)
{
    return sett__round_up(rows_of_scales(o) * groups_of_tile(o) * row_blocks(o) * sett__bytes_of(o->sw), LINE) * halves_of(o);
}

int sett__wgmma_packed_bytes(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bn * WEIGHTS_PIECE * packed_bits(o) / 8 + bytes_of_scales(o);
}

void sett__wgmma_packed_places(sett_build *b, wgmma_parts *t, sett_tensor *const from[2])
{
    const sett_gemm_wgmma_options *o = t->o;
    const int boxes = packed_bits(o) / WEIGHTS_BOX_BITS, blocks = row_blocks(o), halves = halves_of(o), rows = rows_of_scales(o), groups = groups_of_tile(o);
    const int words = WEIGHTS_WORDS * boxes, scales = bytes_of_scales(o) / halves / sett__bytes_of(o->sw); /* of a half */
    t->b = sett_make_smem_tensor(b, SETT_U64, sett_make_layout(b, T(WEIGHTS_WORDS, boxes, blocks, halves, o->tuning.stages), T(1, WEIGHTS_WORDS, words, words * blocks, words * blocks * halves)), 1024);
    t->sw = sett_make_smem_tensor(b, o->sw, sett_make_layout(b, T(rows, groups, blocks, halves, o->tuning.stages), T(1, rows, rows * groups, scales, scales * halves)), LINE);
    t->tb = sett_make_tma(from[0], .layout = sett_make_layout(b, T(WEIGHTS_WORDS, boxes, blocks), T(1, WEIGHTS_WORDS, words)), .tile = T(WEIGHTS_WORDS, boxes, blocks));
    t->tsw = sett_make_tma(from[1], .layout = sett_make_layout(b, T(rows, groups, blocks), T(1, rows, rows * groups)), .tile = T(rows, groups, blocks));
}

/* Of .swiglu the blocks of up follow those of the gate. */
packed_loads sett__wgmma_packed_loads(const wgmma_parts *t, const wgmma_place *p)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int boxes = packed_bits(o) / WEIGHTS_BOX_BITS, blocks = row_blocks(o);
    packed_loads x = {{NULL}, {NULL}};
    for (int i = 0; i < halves_of(o); i++) {
        sett_tensor *b = sett_tma_tensor(t->tb), *sw = sett_tma_tensor(t->tsw);
        if (p->batch)
            b = sett_slice(b, ALL, ALL, ALL, p->batch), sw = sett_slice(sw, ALL, ALL, ALL, p->batch);
        if (i) {
            sett_val *up = sett_floordiv(sett_add(t->N, ROWS - 1), ROWS);
            b = sett_domain_offset(b, 0, 0, up), sw = sett_domain_offset(sw, 0, 0, up);
        }
        x.b[i] = sett_local_tile(b, T(WEIGHTS_WORDS, boxes, blocks), T(0, ALL, sett_get(p->at, 1)));
        x.sw[i] = sett_local_tile(sw, T(rows_of_scales(o), groups_of_tile(o), blocks), T(0, ALL, sett_get(p->at, 1)));
    }
    return x;
}

int sett__wgmma_packed_tx(const wgmma_parts *t)
{
    return halves_of(t->o) * (sett_tma_bytes(t->tb) + sett_tma_bytes(t->tsw));
}

void sett__wgmma_load_packed(const wgmma_parts *t, const packed_loads *x, sett_pipeline_state *put, sett_val *k)
{
    const sett_gemm_wgmma_options *o = t->o;
    sett_val *s = sett_pipeline_stage(put);
    const sett_arg group = o->group < 0 ? sett_arg_i(0) : o->group > WEIGHTS_PIECE ? SETT_A(sett_floordiv(k, o->group / WEIGHTS_PIECE)) : SETT_A(k);
    for (int i = 0; i < halves_of(o); i++) {
        sett_tma_load(t->tb, sett_slice(x->b[i], ALL, ALL, ALL, k), sett_slice(t->b, ALL, ALL, ALL, i, s), sett_pipeline_barrier(put));
        sett_tma_load(t->tsw, sett_slice(x->sw[i], ALL, ALL, ALL, group), sett_slice(t->sw, ALL, ALL, ALL, i, s), sett_pipeline_barrier(put));
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------ */
void sett__wgmma_begin_packed(sett_build *b, const wgmma_parts *t, wgmma_group *g)
{
    (void)b;
    for (int i = 0; i < 2; i++)
        g->weights[i] = sett_make_fragment_A(g->mma, sett_partition_shape_A(g->mma, T(t->o->tuning.bn, t->bk)));
}

/* The K tile that has come, to registers `to`. */
static void open_tile(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *to)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int each = packed_bits(o) / WEIGHTS_BOX_BITS, mine = row_blocks(o) / sharing(o);
    sett_val *s = sett_pipeline_stage(g->get), *thread = sett_mod(sett_thread_idx(b, 0), GROUP);
    for (int i = 0; i < high_of(o); i++) {
        const sett_arg block = o->tuning.ping_pong ? sett_arg_i(i % mine) : SETT_A(sett_add(g->number, i % mine * sharing(o)));
        sett_tensor *scales = sett_slice(t->sw, ALL, ALL, block, i / mine, s);
        sett_val *words[WEIGHTS_WORDS_MOST];
        weights_scale of[2] = {{NULL}};
        sett__weights_words(sett_slice(t->b, ALL, ALL, block, i / mine, s), each, thread, words);
        for (int k = 0; k < WEIGHTS_STEPS; k++) {
            if (k * groups_of_tile(o) % WEIGHTS_STEPS == 0)
                sett__weights_scales(sett_slice(scales, ALL, k * groups_of_tile(o) / WEIGHTS_STEPS), sett_floordiv(thread, 4), o->zeros, o->dtype, of);
            for (int j = 0; j < WEIGHTS_REGISTERS; j++)
                sett_store(sett_slice(to, T(ALL, j % 2, j / 2), i, k), sett__decode_weights(b, o->dtype, o->b, words + k * each, j, &of[j % 2]));
        }
    }
}

/* Waits for the next K tile, which is number k, and opens it. What is packed behind K is no weight. */
static void open_next(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *to, sett_val *k)
{
    sett_val *left = sett_sub(t->K, sett_mul(k, WEIGHTS_PIECE));
    sett_consumer_wait(g->get);
    open_tile(b, t, g, to);
    sett_pipeline_advance(g->get);
    sett_if (b, sett_lt(left, WEIGHTS_PIECE))
        for (int i = 0; i < WEIGHTS_STEPS; i++)
            sett__clear_weights(to, high_of(t->o), i, sett_thread_idx(b, 0), left);
}

/* The products of a K tile that is open, in the background; its stage is that of g->done. */
static void begin(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *weights)
{
    sett_tensor *a = sett_make_fragment_B(g->mma, sett_partition_B(g->mine, sett_slice(t->a, ALL, ALL, sett_pipeline_stage(g->done))));
    sett_gemm(g->mma, g->acc, weights, a, g->acc);
    sett_mma_commit(b);
}

static void end(sett_build *b, const wgmma_group *g)
{
    sett_mma_wait(b, 0);
    sett_consumer_release(g->done);
    sett_pipeline_advance(g->done);
}

void sett__wgmma_packed(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_val *from, sett_val *n)
{
    sett_fill(g->acc, 0.0);
    sett_pipeline_state_copy(g->get, g->done);
    open_next(b, t, g, g->weights[0], from);
    sett_for (b, i, 2, n, 2)
        for (int j = 0; j < 2; j++) {
            begin(b, t, g, g->weights[j]);
            open_next(b, t, g, g->weights[!j], sett_add(from, sett_add(i, j - 1)));
            end(b, g);
        }
    sett_val *one_more = sett_eq(sett_mod(n, 2), 0);
    begin(b, t, g, g->weights[0]);
    sett_if (b, one_more)
        open_next(b, t, g, g->weights[1], sett_add(from, sett_sub(n, 1)));
    end(b, g);
    sett_if (b, one_more) {
        begin(b, t, g, g->weights[1]);
        end(b, g);
    }
}
