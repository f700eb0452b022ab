/* SPDX-License-Identifier: Apache-2.0 */
/* The way out of sett_gemm_wgmma: registers, the epilogue, shared memory, TMA. */
#include "gemm_wgmma.h"

/* Sums that a thread converts and stores at a time: of 16 rows of A by stmatrix, which has elements of 16 bits, else of 8. */
static int each_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bm % 16 || sett__bytes_of(o->c) != 2 ? 4 : 8;
}

/* Number j of such parts of a partition of the copy to shared memory. */
static sett_tensor *part_of(const sett_gemm_wgmma_options *o, sett_tensor *t, int j)
{
    if (sett__bytes_of(o->c) != 2 && o->tuning.bm == 8) /* there is one, and no mode of them */
        return sett_slice(t, ALL, 0, 0);
    return sett__bytes_of(o->c) == 2 ? sett_slice(t, T(ALL, j), 0, 0) : sett_slice(t, T(ALL, T(ALL, ALL, j)), 0, 0);
}

/* A part of a tile: what its epilogue is given. Tensors are taken as (N,M) here. */
typedef struct place {
    sett_epilogue_tile base;
    const sett_gemm_wgmma_options *o;
    sett_thr_copy *thread; /* of the copy from registers to the tile */
    const wgmma_place *at;
    sett_arg tiler, tile;
    int part;
} place;

static sett_tensor *partition(sett_site site, const sett_epilogue_tile *base, sett_tensor *whole)
{
    const place *p = (const place *)base;
    (void)site;
    return part_of(p->o, sett_partition_S(p->thread, sett_local_tile(sett_select(sett__wgmma_rows(p->at, whole), 1, 0), p->tiler, p->tile)), p->part);
}

/* Number j of such sums, of registers as the copy to shared memory has them. */
static sett_val *sums_at(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *acc, int j)
{
    return sett_load(sett__bytes_of(o->c) == 2 ? part_of(o, acc, j) : sett_slice(sett_composition(acc, sett_make_layout(b, T(4, o->tuning.bm / 8))), ALL, j));
}

/* 64 columns of the tile: from[], sums of each thread and what they are multiplied by or NULL, to sC, (64,bm). */
static void fill_columns(sett_build *b, const wgmma_parts *t, sett_tiled_copy *r2s, place *at, sett_tensor *const from[2], sett_tensor *sC)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int each = each_of(o);
    sett_tensor *held = sett_make_rmem_tensor(b, o->c, each), *to = sett_partition_D(at->thread, sC), *shape = sett_partition_S(at->thread, sC);
    for (int j = 0; j < o->tuning.bm * ROWS / GROUP / each; j++) {
        at->part = j;
        at->base.same_columns = j > 0;
        sett_val *sums = sums_at(b, o, from[0], j);
        if (from[1])
            sums = sett_mul(sett__gate(t->terms, sums), sett__up(t->terms, sums_at(b, o, from[1], j)));
        sett_val *x = sett__epilogue(&at->base, sett_reshape(sums, sett_shape(part_of(o, shape, j))), t->terms); /* as sett_epilogue_partition gives it */
        sett_store(held, sett_reshape(sett__rounded(x, o->c), each));
        sett_copy(r2s, held, part_of(o, to, j));
    }
}

/* The sums of one instruction of those that lie below each other. */
static sett_tensor *rows_of(sett_build *b, const sett_gemm_wgmma_options *o, sett_thr_copy *to, sett_tensor *acc, int i)
{
    sett_tensor *rows = sett_composition(sett_slice(acc, ALL, i, 0), sett_make_layout(b, T(T(2, 2, o->tuning.bm / 8), 1, 1), T(T(1, 2, 4), 0, 0)));
    return sett__bytes_of(o->c) == 2 ? sett_retile(to, rows) : rows;
}

/* Block number `block` of 64 columns, sC, to C by TMA, which leaves out what lies past the edges. One warp does. */
static void store_boxes(const wgmma_parts *t, sett_tensor *sC, const wgmma_place *p, sett_val *block)
{
    const int bm = t->o->tuning.bm, panel = panel_of(t->o);
    sett_tensor *gC = sett_local_tile(sett__wgmma_rows(p, sett_tma_tensor(t->tc)), T(bm, ROWS), T(sett_get(p->at, 0), block));
    for (int j = 0; j < ROWS / panel; j++)
        sett_tma_store(t->tc, sett_local_tile(sC, T(bm, panel), T(0, j)), sett_local_tile(gC, T(bm, panel), T(0, j)));
}

/* The same of a tile where the rows of its group end, by the threads of a warp group, 16 bytes each. */
static void store_rows(sett_build *b, const wgmma_parts *t, sett_tensor *sC, const wgmma_place *p, sett_val *block)
{
    const int vec = 16 / sett__bytes_of(t->o->c), each = ROWS / vec;
    sett_tensor *C = sett__wgmma_rows(p, t->terms->to.C);
    sett_val *first = sett_value(b, sett_mul(sett_get(p->at, 0), t->o->tuning.bm)), *columns = sett_floordiv(t->N, vec);
    sett_for (b, i, sett_mod(sett_thread_idx(b, 0), GROUP), sett_mul(sett_sub(p->rows, first), each), GROUP) {
        sett_val *row = sett_floordiv(i, each), *at = sett_mod(i, each), *column = sett_add(sett_mul(block, each), at);
        sett_if (b, sett_lt(column, columns))
            sett_store(sett_local_tile(C, T(1, vec), T(sett_add(first, row), column)), sett_load(sett_local_tile(sC, T(1, vec), T(row, at))));
    }
}

/* What the epilogue reads and writes is that of the tile's batch or group. */
static void move_terms(sett_build *b, const wgmma_parts *t, const wgmma_place *p)
{
    if (!p->batch)
        return;
    sett__terms_of(t->terms, t->product, p->batch);
    t->terms->extent = sett_tuple(b, p->first ? sett_add(p->first, p->rows) : p->rows, t->N);
}

/* What a warp group has of the tile, 64 columns at a time: threads write them, and one begins their copy, when the one of the last tile has
 * read the place. What lies past the edges is left out. */
void sett__wgmma_store(sett_build *b, const wgmma_parts *t, sett_tensor *acc, sett_val *group, const wgmma_place *p)
{
    const sett_gemm_wgmma_options *o = t->o;
    const sett_dtype d = o->c;
    const sett_arg at = p->at;
    const int bm = o->tuning.bm, blocks = columns(o) / ROWS, mine = blocks / sharing(o), each = each_of(o);
    sett_copy_atom *move = sett__bytes_of(d) == 2 ? sett_stmatrix(b, d, each / 2, true) : sett_copy_universal(b, d, sett_dtype_bits(d));
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(move, sett__wgmma_product(b, o, 1));
    sett_thr_copy *to = sett_get_slice(r2s, sett_mod(sett_thread_idx(b, 0), GROUP));
    sett_val *stores = sett_eq(sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), 4), 0), *whole = NULL;
    if (o->grouped)
        whole = sett_ge(p->rows, sett_mul(sett_add(sett_get(at, 0), 1), bm));
    move_terms(b, t, p);
    for (int i = 0; i < mine; i++) {
        sett_val *block = o->tuning.ping_pong ? sett_const(b, SETT_I32, i) : sett_add(group, i * groups_of(o)); /* of the tile, 64 columns */
        sett_tensor *part[] = {acc, NULL}, *sC = sett_slice(t->c, ALL, ALL, o->tuning.ping_pong ? sett_add(sett_mul(group, blocks), i) : block);
        part[0] = rows_of(b, o, to, acc, i);
        if (o->swiglu)
            part[1] = rows_of(b, o, to, acc, i + mine);
        place here = {.at = p, .base = {.b = b, .batch = p->batch, .partition = partition, .same_rows = 28 /* lane / 4 is a column of C */}, .o = o, .thread = to, .tiler = sett_tuple(b, ROWS, bm), .tile = sett_tuple(b, sett_add(sett_mul(sett_get(at, 1), blocks), block), sett_get(at, 0))};
        sett_tma_store_wait_read(b, mine - 1);
        sett_barrier(b, sett_add(group, 1), GROUP);
        fill_columns(b, t, r2s, &here, part, sett_select(sC, 1, 0));
        sett_fence_view_async_shared(b);
        sett_barrier(b, sett_add(group, 1), GROUP);
        sett_val *number = sett_value(b, sett_add(sett_mul(sett_get(at, 1), blocks), block)); /* of all columns' */
        sett_if (b, whole ? sett_and(stores, whole) : stores)
            store_boxes(t, sC, p, number);
        if (whole)
            sett_if (b, sett_not(whole))
                store_rows(b, t, sC, p, number);
        sett_tma_store_commit(b);
    }
}
