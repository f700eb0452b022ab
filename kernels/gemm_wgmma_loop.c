/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of sett_gemm_wgmma: one thread loads by TMA, warp groups multiply, and workers of one tile meet. */
#include "gemm_wgmma.h"

/* K tiles of a work tile: from, to. */
static sett_arg k_range(sett_build *b, const wgmma_parts *t, const sett_work_tile *w)
{
    return t->o->stream_k ? sett_tile_k_range(w) : sett_tuple(b, 0, t->ktiles);
}

wgmma_place sett__wgmma_place(sett_build *b, const wgmma_parts *t, const sett_work_tile *w)
{
    wgmma_place x = {.at = sett_tile_coord(w), .rows = t->M};
    if (t->o->grouped || t->o->batched)
        x.batch = sett_value(b, sett_get(x.at, 2));
    if (!t->o->grouped)
        return x;
    const sett_arg rows = sett_tile_rows(w);
    x.rows = sett_value(b, sett_get(rows, 1));
    if (t->o->grouped == SETT_GROUPED_CONTIGUOUS) {
        x.first = sett_value(b, sett_get(rows, 0));
        x.rows = sett_sub(x.rows, x.first);
    }
    return x;
}

sett_tensor *sett__wgmma_rows(const wgmma_place *x, sett_tensor *t)
{
    if (x->batch && sett_rank(t) == 3)
        t = sett_slice(t, ALL, ALL, x->batch);
    return x->first ? sett_domain_offset(t, x->first, 0) : t;
}

sett_val *sett__wgmma_scales_begin_after(const wgmma_place *x)
{
    return x->first ? sett_mod(x->first, 16 / sett__bytes_of(SETT_F32)) : NULL;
}

/* A tile's loads by boxes: where in shared memory, (box,bk,stages), and from where, (box,bk,k). */
typedef struct loads {
    sett_tma *map;
    int n, boxes; /* of these loads; of them so many are of one matrix, and those of the next one follow */
    sett_val *inside; /* the first ones of a matrix that do not lie outside it altogether: others are not loaded, as what stands in their place is never stored */
    sett_val *bytes;  /* that come to a stage of a block, from a peer too */
    sett_tensor *to[BOXES], *from[BOXES];
} loads;

/* Of so many boxes from number `first` on, those that begin inside so many rows. */
static sett_val *inside_of(sett_build *b, sett_arg first, int boxes, int box, sett_val *rows)
{
    return sett_value(b, sett_clamp(sett_sub(sett_ceil_div(rows, box), first), 0, boxes));
}

/* In a cluster each block loads one half of A's boxes for both. */
static loads loads_of_a(sett_build *b, const wgmma_parts *t, const wgmma_place *p)
{
    const int box = box_of_a(t->o), boxes = t->o->tuning.bm / box, n = boxes / cluster_of(t->o);
    sett_val *rank = cluster_of(t->o) == 2 ? sett_block_idx_in_cluster(b) : NULL;
    sett_tensor *rows = sett__wgmma_rows(p, sett_tma_tensor(t->ta));
    const sett_arg first = sett_mul(sett_get(p->at, 0), boxes), mine = rank ? SETT_A(sett_mul(rank, n)) : sett_arg_i(0);
    sett_val *inside = inside_of(b, first, boxes, box, p->rows);
    loads x = {.map = t->ta, .n = n, .boxes = n, .inside = rank ? sett_sub(inside, mine) : inside, .bytes = sett_mul(inside, sett_tma_bytes(t->ta))};
    for (int i = 0; i < n; i++) {
        const sett_arg at = sett_add(mine, i);
        x.from[i] = sett_local_tile(rows, T(box, t->bk), T(sett_add(first, at), ALL));
        x.to[i] = sett_local_tile(t->a, T(box, t->bk), T(at, 0));
    }
    return x;
}

/* Of .swiglu the first half of B's boxes is the gate's rows, and the others are those of up, which lie N rows further on in B. */
static loads loads_of_b(sett_build *b, const wgmma_parts *t, const wgmma_place *p)
{
    const int gate = row_blocks(t->o);
    sett_tensor *all = sett_tma_tensor(t->tb), *rows = p->batch ? sett_slice(all, ALL, ALL, p->batch) : all;
    sett_tensor *up = t->o->swiglu ? sett_domain_offset(rows, t->N, 0) : NULL;
    const sett_arg first = sett_mul(sett_get(p->at, 1), gate);
    loads x = {.map = t->tb, .n = gate * halves_of(t->o), .boxes = gate, .inside = inside_of(b, first, gate, ROWS, t->N)};
    x.bytes = sett_mul(x.inside, sett_tma_bytes(t->tb) * halves_of(t->o));
    for (int i = 0; i < x.n; i++) {
        x.from[i] = sett_local_tile(i < gate ? rows : up, T(ROWS, t->bk), T(sett_add(first, i % gate), ALL));
        x.to[i] = sett_local_tile(t->b, T(ROWS, t->bk), T(i, 0));
    }
    return x;
}

/* K tile k of them. mask: to which blocks of a cluster, NULL: to the own one. certain: the tile has a box inside. */
static void load(sett_build *b, const loads *x, sett_pipeline_state *put, sett_val *k, sett_val *mask, bool certain)
{
    sett_val *s = sett_pipeline_stage(put);
    for (int i = 0; i < x->n; i++) {
        const int number = i % x->boxes;
        sett_tensor *from = sett_slice(x->from[i], ALL, ALL, k), *to = sett_slice(x->to[i], ALL, ALL, s);
        if (!number && certain)
            sett_tma_load(x->map, from, to, sett_pipeline_barrier(put), .mask = mask);
        else
            sett_if (b, sett_gt(x->inside, number))
                sett_tma_load(x->map, from, to, sett_pipeline_barrier(put), .mask = mask);
    }
}

/* SA of K tile k, from `first` on, and of those behind it that a stage has room for. What lies past K is 0, and not read. */
static void load_scales(sett_build *b, const wgmma_parts *t, sett_pipeline_state *put, const wgmma_place *p, sett_val *k, sett_arg first)
{
    sett_if (b, sett_eq(sett_mod(sett_sub(k, first), SCALES_K), 0)) {
        sett_val *row = sett_value(b, sett_mul(sett_get(p->at, 0), t->o->tuning.bm)), *within = sett__wgmma_scales_begin_after(p);
        sett_tensor *from = sett_domain_offset(sett__wgmma_rows(p, sett_tma_tensor(t->tsa)), within ? sett_sub(row, within) : row, k);
        sett_producer_acquire(put);
        sett_tma_load(t->tsa, sett_local_tile(from, T(rows_of_sa(t->o), SCALES_K), T(0, 0)), sett_slice(t->sa, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put));
        sett_pipeline_advance(put);
    }
}

void sett__wgmma_produce(sett_build *b, const wgmma_parts *t)
{
    sett_pipeline_state *put = sett_pipeline_producer_state(t->pipe), *scales = t->sa ? sett_pipeline_producer_state(t->scales) : NULL;
    sett_work_tile *w = sett_initial_work_tile(t->tiles);
    sett_val *both = cluster_of(t->o) == 2 ? sett_const(b, SETT_I32, 3) : NULL;
    sett_while (b, sett_is_valid_tile(w)) {
        const wgmma_place at = sett__wgmma_place(b, t, w);
        sett_arg range = k_range(b, t, w);
        const loads of_a = loads_of_a(b, t, &at), of_b = t->sw ? (loads){.n = 0} : loads_of_b(b, t, &at);
        const packed_loads packed = t->sw ? sett__wgmma_packed_loads(t, &at) : (packed_loads){{NULL}, {NULL}};
        sett_val *bytes = t->sw ? sett_add(of_a.bytes, sett__wgmma_packed_tx(t)) : sett_add(of_a.bytes, of_b.bytes);
        sett_for (b, k, sett_get(range, 0), sett_get(range, 1), 1) {
            if (t->sa)
                load_scales(b, t, scales, &at, k, sett_get(range, 0));
            sett_producer_acquire_tx(put, bytes);
            load(b, &of_a, put, k, both, !both);
            if (t->sw)
                sett__wgmma_load_packed(t, &packed, put, k);
            load(b, &of_b, put, k, NULL, !both);
            sett_pipeline_advance(put);
        }
        sett_advance_to_next_work(w);
    }
}

sett_tiled_mma *sett__wgmma_product(sett_build *b, const sett_gemm_wgmma_options *o, int groups, int n)
{
    const bool decoded = packed_bits(o) > 0;
    const sett_dtype of_a = o->tf32 ? SETT_TF32 : o->dtype, of_b = o->tf32 ? SETT_TF32 : decoded ? o->dtype : o->b;
    sett_mma_atom *atom = sett_wgmma(b, .a = upright(o) ? of_a : of_b, .b = upright(o) ? of_b : of_a, .acc = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .n = n, .a_from = decoded ? SETT_RMEM : SETT_SMEM);
    return sett_make_tiled_mma(atom, T(groups, 1, 1), ALL);
}

/* A stage of A or B, as the tensor cores have its elements. */
static sett_tensor *stage_of(const wgmma_parts *t, sett_tensor *stages, sett_val *s)
{
    sett_tensor *stage = sett_slice(stages, ALL, ALL, s);
    return t->o->tf32 ? sett_recast_tensor(stage, SETT_TF32) : stage; /* the same bits */
}

void sett__wgmma_products(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *sums, bool first)
{
    sett_val *s = sett_pipeline_stage(g->get);
    sett_tensor *rows = stage_of(t, upright(t->o) ? t->a : t->b, s), *cols = stage_of(t, upright(t->o) ? t->b : t->a, s);
    sett_tensor *fA = sett_make_fragment_A(g->mma, sett_partition_A(g->mine, rows)), *fB = sett_make_fragment_B(g->mma, sett_partition_B(g->mine, cols)); /* descriptors */
    sett_gemm(g->mma, sums, fA, fB, sums, .overwrite = first);
    sett_mma_commit(b);
}

sett_tensor *sett__wgmma_sums(const wgmma_parts *t, const wgmma_group *g)
{
    const int bm = t->o->tuning.bm, bn = t->o->tuning.bn;
    return sett_make_fragment_C(g->mma, sett_partition_shape_C(g->mma, upright(t->o) ? T(bm, bn) : T(bn, bm)));
}

/* acc = the product of so many K tiles. */
static void multiply(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_val *n)
{
    sett_consumer_wait(g->get);
    sett__wgmma_products(b, t, g, g->acc, true);
    sett_pipeline_state_copy(g->get, g->done), sett_pipeline_advance(g->get);
    sett_for (b, k, 1, n, 1) {
        sett_consumer_wait(g->get);
        sett__wgmma_products(b, t, g, g->acc, false);
        sett_mma_wait(b, 1); /* all but the newest: the stage before it has been read */
        sett_consumer_release(g->done);
        sett_pipeline_state_copy(g->get, g->done), sett_pipeline_advance(g->get);
    }
    sett_mma_wait(b, 0);
    sett_consumer_release(g->done);
}

/* Number of the first slot of a worker's group; each worker has one for each warp group of each of its blocks. */
static sett_val *slot_of(sett_build *b, const wgmma_parts *t, sett_val *worker, sett_val *group)
{
    const int groups = groups_of(t->o), cluster = cluster_of(t->o);
    sett_val *slot = sett_add(sett_mul(worker, cluster * groups), group);
    return cluster == 2 ? sett_add(slot, sett_mul(sett_block_idx_in_cluster(b), groups)) : slot;
}

/* Of a tile that several workers compute: a later one leaves its sums, the first adds them to its own. True, of the kernel: it is to be
 * stored. */
static sett_val *meet(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const sett_work_tile *w, sett_arg range)
{
    sett_val *from = sett_value(b, sett_get(range, 0)), *to = sett_value(b, sett_get(range, 1)), *thread = sett_mod(sett_thread_idx(b, 0), GROUP);
    sett_if (b, sett_or(sett_gt(from, 0), sett_lt(to, t->ktiles))) {
        sett_arg who = sett_tile_workers(w), barrier = SETT_A(sett_add(g->number, 1));
        sett_val *me = sett_value(b, sett_get(who, 0)), *last = sett_value(b, sett_get(who, 1)), *step = sett_value(b, sett_get(who, 2));
        sett_if (b, sett_gt(from, 0)) {
            const wgmma_place at = sett__wgmma_place(b, t, w);
            const sums_inside inside = sett__wgmma_inside(b, t, g, &at);
            sett__leave_sums(b, &t->stream, g->acc, &inside, slot_of(b, t, me, g->number), barrier, thread);
        }
        sett_else (b)
            sett__take_sums(b, &t->stream, g->acc, slot_of(b, t, sett_add(me, step), g->number), sett_mul(step, cluster_of(t->o) * groups_of(t->o)),
                sett_floordiv(sett_sub(last, me), step), barrier, thread);
    }
    return sett_eq(from, 0);
}

/* Of .ping_pong: over a tile of the other group, and its stages. */
static void skip(const wgmma_parts *t, sett_work_tile *w, sett_tensor *stages)
{
    sett_set(stages, sett_add(sett_at(stages, 0), t->ktiles), 0);
    sett_advance_to_next_work(w);
}

static void promote(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const sett_work_tile *w, sett_val *from, sett_val *n)
{
    const wgmma_place at = sett__wgmma_place(b, t, w);
    sett__wgmma_promoted(b, t, g, &at, from, n);
}

static void store(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const sett_work_tile *w)
{
    const wgmma_place at = sett__wgmma_place(b, t, w);
    sett__wgmma_store(b, t, g, &at);
}

/* Of a worker that will store the tile: its share of K begins at 0. */
static void request_residual(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const sett_work_tile *w, sett_val *from)
{
    const wgmma_place at = sett__wgmma_place(b, t, w);
    if (!t->o->stream_k)
        sett__wgmma_request_residual(b, t, g, &at);
    else
        sett_if (b, sett_eq(from, 0))
            sett__wgmma_request_residual(b, t, g, &at);
}

void sett__wgmma_consume(sett_build *b, const wgmma_parts *t, sett_val *group)
{
    const sett_gemm_wgmma_options *o = t->o;
    wgmma_group g = {.number = group, .mma = sett__wgmma_product(b, o, sharing(o), upright(o) ? o->tuning.bn : o->tuning.bm), .stages = sett_var(b, SETT_I32, 0)};
    g.mine = sett_get_slice(g.mma, o->tuning.ping_pong ? sett_const(b, SETT_I32, 0) : sett_mul(group, GROUP)); /* of A and B all threads of a group have the same */
    g.acc = sett__wgmma_sums(t, &g);
    if (o->promote)
        sett__wgmma_begin_promoted(t, &g);
    if (t->sw)
        sett__wgmma_begin_packed(b, t, &g);
    g.get = sett_pipeline_consumer_state(t->pipe), g.done = sett_pipeline_consumer_state(t->pipe);
    g.residuals = o->residual ? sett_var(b, SETT_I32, 0) : NULL;
    g.scales = t->sa ? sett_pipeline_consumer_state(t->scales) : NULL;
    sett_work_tile *w = sett_initial_work_tile(t->tiles);
    sett_pipeline_state *turn = t->turns ? sett_order_state(t->turns, group) : NULL;
    if (turn) /* the other group's tile */
        sett_if (b, sett_eq(group, 1))
            skip(t, w, g.stages);
    sett__epilogue_begin(t->terms);
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg range = k_range(b, t, w);
        if (turn)
            sett_order_wait(turn);
        sett_val *from = sett_value(b, sett_get(range, 0)), *n = sett_value(b, sett_sub(sett_get(range, 1), sett_get(range, 0)));
        if (o->residual)
            request_residual(b, t, &g, w, from);
        sett_pipeline_state_set(g.get, sett_at(g.stages, 0));
        sett_set(g.stages, sett_add(sett_at(g.stages, 0), n), 0);
        if (o->promote)
            promote(b, t, &g, w, from, n);
        else if (t->sw)
            sett__wgmma_packed(b, t, &g, from, n);
        else
            multiply(b, t, &g, n);
        if (turn)
            sett_order_arrive(turn);
        if (o->stream_k)
            sett_if (b, meet(b, t, &g, w, range))
                store(b, t, &g, w);
        else
            store(b, t, &g, w);
        sett_advance_to_next_work(w);
        if (turn)
            skip(t, w, g.stages);
    }
    sett__epilogue_end(t->terms);
    sett_tma_store_wait_read(b, 0);
}
