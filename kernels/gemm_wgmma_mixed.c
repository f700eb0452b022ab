/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of sett_gemm_wgmma with packed weights: threads decode them to registers, which are the A of the instruction, while the tensor
 * core works on the K tile before. docs/products.md says how they are packed. */
#include "gemm_wgmma.h"
#include <math.h>

enum { STEPS = 4 /* of 16 of K, in a K tile */, REGISTERS = 4 /* of an instruction's A, 2 values each */, WORDS = 4 /* of 16 bytes */, TWO = 2 };

/* ---- decoding ------------------------------------------------------------------------------------------ */
/* A row's zero points and scales, as values of A's type. */
typedef struct scale {
    sett_val *by, *zero; /* zero: NULL: there is none, or the one of weights_middle() */
} scale;

/* What an integer of 4 or 8 bits in the lower bits of a 16-bit float's fraction adds to: 128, or 1024, whose unit is 1. */
static int magic_of(sett_dtype t)
{
    return t == SETT_F16 ? 1024 : 128;
}

static uint32_t magic_bits(sett_dtype t)
{
    return t == SETT_F16 ? 0x64006400 : 0x43004300;
}

/* Values without their scale, (2) of type t, of register j. words: those of its 16 of K. */
typedef sett_val *(*decode)(sett_build *, sett_dtype t, sett_val *const *words, int j, const scale *);

/* x - the zero point, exactly: x is `more` too large. */
static sett_val *centred(sett_val *x, const scale *s, sett_dtype b, int more)
{
    return s->zero ? sett_sub(x, sett_add(s->zero, more)) : sett_sub(x, weights_middle(b) + more);
}

/* A word, or 16 bits, as two values. */
static sett_val *as_two(sett_val *word, sett_dtype t)
{
    return sett_bitcast(sett_reshape(word, T1(1)), t);
}

static sett_val *of_i4(sett_build *b, sett_dtype t, sett_val *const *words, int j, const scale *s)
{
    (void)b;
    sett_val *bits = sett_or(sett_and(sett_shr(words[0], 4 * j), 0x000f000f), magic_bits(t));
    return centred(as_two(bits, t), s, SETT_I4, magic_of(t));
}

/* bf16 has 8 bits of fraction, which are those of the difference alone: it is made in Float32. */
static sett_val *of_i8(sett_build *b, sett_dtype t, sett_val *const *words, int j, const scale *s)
{
    sett_val *word = words[j / 2];
    const int first = j % 2 * 2;
    if (t == SETT_F16)
        return centred(as_two(sett_prmt(word, sett_const(b, SETT_U32, magic_bits(t)), 0x5150 + 0x101 * first), t), s, SETT_I8, magic_of(t));
    const scale of = {.zero = s->zero ? sett_to(s->zero, SETT_F32) : NULL};
    sett_tensor *both = sett_make_rmem_tensor(b, SETT_F32, TWO);
    for (int i = 0; i < TWO; i++) {
        sett_val *x = sett_bitcast(sett_prmt(word, sett_const(b, SETT_U32, 0x4b000000), 0x7440 + first + i), SETT_F32); /* 2^23 + the byte */
        sett_set(both, centred(x, &of, SETT_I8, 1 << 23), i);
    }
    return sett_to(sett_load(both), t);
}

static sett_val *pair_of_bytes(sett_val *const *words, int j, sett_dtype as)
{
    return as_two(sett_to(sett_shr(words[j / 2], j % 2 * 16), SETT_U16), as);
}

static sett_val *of_e4m3(sett_build *b, sett_dtype t, sett_val *const *words, int j, const scale *s)
{
    (void)b, (void)s;
    return sett_to(pair_of_bytes(words, j, SETT_F8E4M3FN), t);
}

static sett_val *of_e5m2(sett_build *b, sett_dtype t, sett_val *const *words, int j, const scale *s)
{
    (void)b, (void)s;
    return sett_to(pair_of_bytes(words, j, SETT_F8E5M2), t);
}

static sett_val *shifted(sett_val *x, int left)
{
    return left >= 0 ? sett_shl(x, left) : sett_shr(x, -left);
}

/* Sign, exponent and fraction go where t has them; the difference of the biases is a factor, so that 0.5, which is subnormal, is one there. */
static sett_val *of_e2m1(sett_build *b, sett_dtype t, sett_val *const *words, int j, const scale *s)
{
    (void)b, (void)s;
    const int fraction = t == SETT_F16 ? 10 : 7, bias = t == SETT_F16 ? 15 : 127;
    const uint32_t number = 7u << (fraction - 1);
    sett_val *sign = sett_and(shifted(words[0], 12 - 4 * j), 0x80008000u), *rest = sett_and(shifted(words[0], fraction - 1 - 4 * j), number | number << 16);
    return sett_mul(as_two(sett_or(sign, rest), t), ldexp(1, bias - 1));
}

static const struct kind {
    sett_dtype b;
    decode two;
} kinds[] = {{SETT_I4, of_i4}, {SETT_I8, of_i8}, {SETT_F8E4M3FN, of_e4m3}, {SETT_F8E5M2, of_e5m2}, {SETT_F4E2M1FN, of_e2m1}};

static decode decode_of(sett_dtype b)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].b == b)
            return kinds[i].two;
    return NULL;
}

/* ---- options ------------------------------------------------------------------------------------------- */
void sett__wgmma_check_packed(sett_gemm_wgmma_options *o, choice *c)
{
    sett__check_weights(&(weights_options){o->dtype, o->b, &o->sw, &o->group, o->zeros}, c);
    const struct {
        const char *name;
        int value;
    } none[] = {{"grouped", (int)o->grouped}, {"batched", o->batched}, {"promote", o->promote}, {"block_scales", o->block_scales}};
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

void sett__wgmma_packed_params(sett_build *b, const sett_gemm_wgmma_options *o, sett_val *N, sett_val *K, sett_tensor *to[2])
{
    sett_val *pieces = sett_floordiv(sett_add(K, WEIGHTS_PIECE - 1), WEIGHTS_PIECE), *blocks = sett_mul(sett_floordiv(sett_add(N, ROWS - 1), ROWS), halves_of(o));
    sett_val *groups = o->group < 0 ? sett_const(b, SETT_I32, 1) : o->group < WEIGHTS_PIECE ? sett_mul(pieces, groups_of_tile(o)) : sett_floordiv(sett_add(pieces, o->group / WEIGHTS_PIECE - 1), o->group / WEIGHTS_PIECE);
    sett_val *boxes = sett_mul(pieces, packed_bits(o) / WEIGHTS_BOX_BITS);
    to[0] = sett_param(b, "B", SETT_U64, sett_make_layout(b, T(WEIGHTS_WORDS, boxes, blocks), T(1, WEIGHTS_WORDS, sett_mul(boxes, WEIGHTS_WORDS))), .align = 16);
    const int rows = rows_of_scales(o);
    to[1] = sett_param(b, "SW", o->sw, sett_make_layout(b, T(rows, groups, blocks), T(1, rows, sett_mul(groups, rows))), .align = 16);
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
        if (i) {
            sett_val *up = sett_floordiv(sett_add(t->N, ROWS - 1), ROWS);
            b = sett_domain_offset(b, 0, 0, up), sw = sett_domain_offset(sw, 0, 0, up);
        }
        x.b[i] = sett_local_tile(b, T(WEIGHTS_WORDS, boxes, blocks), T(0, ALL, sett_get(p->at, 1)));
        x.sw[i] = sett_local_tile(sw, T(rows_of_scales(o), groups_of_tile(o), blocks), T(0, ALL, sett_get(p->at, 1)));
    }
    return x;
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

/* Scales of this thread's two rows of the instruction, 8 apart, of a group of K: they stand beside each other, and so do zero points, 64
 * further on. scales: (64 or 128) */
static void load_scales(sett_build *b, const wgmma_parts *t, sett_tensor *scales, scale of[2])
{
    sett_val *pair = sett_floordiv(sett_mod(sett_thread_idx(b, 0), GROUP), 4); /* 8 of a warp, each of 4 lanes */
    for (int z = 0; z <= t->o->zeros; z++) {
        sett_val *two = sett_to(sett_load(sett_local_tile(scales, T1(TWO), T1(sett_add(pair, z * ROWS / TWO)))), t->o->dtype);
        for (int i = 0; i < 2; i++)
            *(z ? &of[i].zero : &of[i].by) = sett_element(two, i);
    }
}

/* Words of this thread, of one block of 64 rows: (4) of 16 of K of 8 bits each, or of 4 bits of all. b: (256,bits / 4) of Uint64. */
static void load_words(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *of, sett_val *words[])
{
    sett_val *thread = sett_mod(sett_thread_idx(b, 0), GROUP);
    for (int i = 0; i < packed_bits(o) / WEIGHTS_BOX_BITS; i++) {
        sett_val *four = sett_load(sett_local_tile(sett_recast_tensor(sett_slice(of, ALL, i), SETT_U32), T1(WORDS), T1(thread)));
        for (int j = 0; j < WORDS; j++)
            words[i * WORDS + j] = sett_element(four, j);
    }
}

/* The K tile that has come, to registers `to`. */
static void open_tile(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *to)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int each = packed_bits(o) / WEIGHTS_BOX_BITS, mine = row_blocks(o) / sharing(o);
    const decode two = decode_of(o->b);
    sett_val *s = sett_pipeline_stage(g->get);
    for (int i = 0; i < high_of(o); i++) {
        const sett_arg block = o->tuning.ping_pong ? sett_arg_i(i % mine) : SETT_A(sett_add(g->number, i % mine * sharing(o)));
        sett_tensor *scales = sett_slice(t->sw, ALL, ALL, block, i / mine, s);
        sett_val *words[2 * WORDS];
        scale of[2] = {{NULL}};
        load_words(b, o, sett_slice(t->b, ALL, ALL, block, i / mine, s), words);
        for (int k = 0; k < STEPS; k++) {
            if (k * groups_of_tile(o) % STEPS == 0)
                load_scales(b, t, sett_slice(scales, ALL, k * groups_of_tile(o) / STEPS), of);
            for (int j = 0; j < REGISTERS; j++)
                sett_store(sett_slice(to, T(ALL, j % 2, j / 2), i, k), sett_mul(two(b, o->dtype, words + k * each, j, &of[j % 2]), of[j % 2].by));
        }
    }
}

/* Waits for the next K tile and opens it. */
static void open_next(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *to)
{
    sett_consumer_wait(g->get);
    open_tile(b, t, g, to);
    sett_pipeline_advance(g->get);
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

void sett__wgmma_packed(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_val *n)
{
    sett_fill(g->acc, 0.0);
    sett_pipeline_state_copy(g->get, g->done);
    open_next(b, t, g, g->weights[0]);
    sett_for (b, i, 2, n, 2)
        for (int j = 0; j < 2; j++) {
            begin(b, t, g, g->weights[j]);
            open_next(b, t, g, g->weights[!j]);
            end(b, g);
        }
    sett_val *one_more = sett_eq(sett_mod(n, 2), 0);
    begin(b, t, g, g->weights[0]);
    sett_if (b, one_more)
        open_next(b, t, g, g->weights[1]);
    end(b, g);
    sett_if (b, one_more) {
        begin(b, t, g, g->weights[1]);
        end(b, g);
    }
}
