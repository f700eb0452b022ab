/* SPDX-License-Identifier: Apache-2.0 */
/* The way out of sett_gemm_wgmma: registers, the epilogue, shared memory, TMA. */
#include "gemm_wgmma.h"

/* Sums that a thread converts and stores at a time: of 16 rows of A by stmatrix, which has elements of 16 bits, else of 8. */
static int each_of(const sett_gemm_wgmma_options *o)
{
    return rows_of_group(o) % 16 || sett__bytes_of(o->c) != 2 ? 4 : 8;
}

/* Number j of such parts of a partition of the copy to shared memory. */
static sett_tensor *part_of(const sett_gemm_wgmma_options *o, sett_tensor *t, int j)
{
    if (sett__bytes_of(o->c) != 2 && rows_of_group(o) == 8) /* there is one, and no mode of them */
        return sett_slice(t, ALL, 0, 0);
    return sett__bytes_of(o->c) == 2 ? sett_slice(t, T(ALL, j), 0, 0) : sett_slice(t, T(ALL, T(ALL, ALL, j)), 0, 0);
}

/* (rows of C,64) as the rows and columns of an instruction. */
static sett_tensor *as_instruction(const sett_gemm_wgmma_options *o, sett_tensor *t)
{
    return upright(o) ? t : sett_select(t, 1, 0);
}

/* A part of a tile: what its epilogue is given. */
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
    return part_of(p->o, sett_partition_S(p->thread, as_instruction(p->o, sett_local_tile(sett__wgmma_rows(p->at, whole), p->tiler, p->tile))), p->part);
}

/* Number j of such sums, of registers as the copy to shared memory has them. */
static sett_val *sums_at(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *acc, int j)
{
    return sett_load(sett__bytes_of(o->c) == 2 ? part_of(o, acc, j) : sett_slice(sett_composition(acc, sett_make_layout(b, T(4, rows_of_group(o) / 8))), ALL, j));
}

/* 64 columns of the tile: from[], sums of each thread and what they are multiplied by or NULL, to sC, the rows and columns of an instruction. */
static void fill_columns(sett_build *b, const wgmma_parts *t, sett_tiled_copy *r2s, place *at, sett_tensor *const from[2], sett_tensor *sC)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int each = each_of(o);
    sett_tensor *held = sett_make_rmem_tensor(b, o->c, each), *to = sett_partition_D(at->thread, sC), *shape = sett_partition_S(at->thread, sC);
    for (int j = 0; j < rows_of_group(o) * ROWS / GROUP / each; j++) {
        at->part = j;
        t->terms->residual_part = t->tr ? part_of(o, shape, j) : NULL;
        at->base.same_columns = j > 0 && !upright(o);
        sett_val *sums = sums_at(b, o, from[0], j);
        if (from[1])
            sums = sett_mul(sett__gate(t->terms, sums), sett__up(t->terms, sums_at(b, o, from[1], j)));
        sett_val *x = sett__epilogue(&at->base, sett_reshape(sums, sett_shape(part_of(o, shape, j))), t->terms); /* as sett_epilogue_partition gives it */
        sett_store(held, sett_reshape(sett__rounded(x, o->c), each));
        sett_copy(r2s, held, part_of(o, to, j));
    }
}

/* The sums of one instruction of those that lie below each other, or, upright, of 64 of its columns. */
static sett_tensor *rows_of(sett_build *b, const sett_gemm_wgmma_options *o, sett_thr_copy *to, sett_tensor *acc, int i)
{
    const int wide = rows_of_group(o) / 8;
    sett_tensor *rows = upright(o) ? sett_slice(sett_composition(acc, sett_make_layout(b, T(T(2, 2, wide), o->tuning.bn / ROWS))), ALL, i) : sett_slice(acc, ALL, i, 0);
    rows = sett_composition(rows, sett_make_layout(b, T(T(2, 2, wide), 1, 1), T(T(1, 2, 4), 0, 0)));
    return sett__bytes_of(o->c) == 2 ? sett_retile(to, rows) : rows;
}

/* Block number `block` of 64 columns of rows number `high` of a group, sC, to C by TMA, which leaves out what lies past the edges. One warp does. */
static void store_boxes(const wgmma_parts *t, sett_tensor *sC, const wgmma_place *p, sett_val *high, sett_val *block)
{
    const int rows = rows_of_group(t->o), panel = panel_of(t->o);
    sett_tensor *gC = sett_local_tile(sett__wgmma_rows(p, sett_tma_tensor(t->tc)), T(rows, ROWS), T(high, block));
    for (int j = 0; j < ROWS / panel; j++)
        sett_tma_store(t->tc, sett_local_tile(sC, T(rows, panel), T(0, j)), sett_local_tile(gC, T(rows, panel), T(0, j)));
}

/* The same of a tile where the rows of its group end, by the threads of a warp group, 16 bytes each. */
static void store_rows(sett_build *b, const wgmma_parts *t, sett_tensor *sC, const wgmma_place *p, sett_val *high, sett_val *block)
{
    const int vec = 16 / sett__bytes_of(t->o->c), each = ROWS / vec;
    sett_tensor *C = sett__wgmma_rows(p, t->terms->to.C);
    sett_val *first = sett_mul(high, rows_of_group(t->o)), *columns = sett_floordiv(t->N, vec), *rows = sett_min(sett_sub(p->rows, first), rows_of_group(t->o));
    sett_for (b, i, sett_mod(sett_thread_idx(b, 0), GROUP), sett_mul(rows, each), GROUP) {
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

/* Where a warp group's blocks of 64 columns are: which of the tile, and where C's lie in shared memory, (rows,64). */
typedef struct block {
    sett_val *number;
    sett_tensor *sC;
} block;

static int blocks_of_group(const sett_gemm_wgmma_options *o)
{
    const int all = columns(o) / ROWS;
    return upright(o) ? all : all / sharing(o);
}

static block block_of(sett_build *b, const wgmma_parts *t, const wgmma_group *g, int i)
{
    const sett_gemm_wgmma_options *o = t->o;
    const bool beside = upright(o) || o->tuning.ping_pong; /* its blocks are side by side */
    block x = {.number = beside ? sett_const(b, SETT_I32, i) : sett_add(g->number, i * groups_of(o))};
    x.sC = sett_slice(t->c, ALL, ALL, o->tuning.ping_pong ? sett_add(sett_mul(g->number, staged_blocks(o)), i % staged_blocks(o)) : x.number);
    if (upright(o))
        x.sC = sett_local_tile(x.sC, T(rows_of_group(o), ROWS), T(g->number, 0));
    return x;
}

/* Which rows of C of a group's height. */
static sett_val *high_of_group(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p)
{
    sett_val *m = sett_value(b, sett_get(p->at, 0));
    return upright(t->o) ? sett_add(sett_mul(m, groups_of(t->o)), g->number) : m;
}

static sett_val *column_of(sett_build *b, const wgmma_parts *t, const wgmma_place *p, const block *x)
{
    return sett_value(b, sett_add(sett_mul(sett_get(p->at, 1), columns(t->o) / ROWS), x->number));
}

static sett_val *is_first_warp(sett_build *b)
{
    return sett_eq(sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), GROUP / WARP), 0);
}

void sett__wgmma_request_residual(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p)
{
    const int rows = rows_of_group(t->o), panel = panel_of(t->o), blocks = blocks_of_group(t->o);
    sett_val *high = high_of_group(b, t, g, p);
    sett_tensor *came = sett_slice(t->came, g->number), *R = sett__wgmma_rows(p, sett_tma_tensor(t->tr));
    if (t->o->grouped) { /* threads may have stored the tile before */
        sett_fence_view_async_shared(b);
        sett_barrier(b, sett_add(g->number, 1), GROUP);
    }
    sett_tma_store_wait_read(b, 0); /* of the tile before */
    sett_if (b, is_first_warp(b))
        sett_if (b, sett_elect_one(b)) {
            sett_mbarrier_arrive_and_expect_tx(came, sett_tma_bytes(t->tr) * blocks * (ROWS / panel));
            for (int i = 0; i < blocks; i++) {
                const block x = block_of(b, t, g, i);
                sett_tensor *gR = sett_local_tile(R, T(rows, ROWS), T(high, column_of(b, t, p, &x)));
                for (int j = 0; j < ROWS / panel; j++)
                    sett_tma_load(t->tr, sett_local_tile(gR, T(rows, panel), T(0, j)), sett_local_tile(x.sC, T(rows, panel), T(0, j)), came);
            }
        }
}

static void wait_for_residual(const wgmma_parts *t, const wgmma_group *g)
{
    sett_val *before = sett_at(g->residuals, 0);
    sett_mbarrier_wait(sett_slice(t->came, g->number), sett_mod(before, 2));
    sett_set(g->residuals, sett_add(before, 1), 0);
}

/* What a warp group has of the tile, 64 columns at a time: threads write them, and one begins their copy, when the one of the last tile has
 * read the place, or R has come there. What lies past the edges is left out. */
void sett__wgmma_store(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p)
{
    const sett_gemm_wgmma_options *o = t->o;
    const sett_dtype d = o->c;
    const int mine = blocks_of_group(o), each = each_of(o), rows = rows_of_group(o);
    sett_copy_atom *move = sett__bytes_of(d) == 2 ? sett_stmatrix(b, d, each / 2, !upright(o)) : sett_copy_universal(b, d, sett_dtype_bits(d));
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(move, sett__wgmma_product(b, o, 1, rows));
    sett_thr_copy *to = sett_get_slice(r2s, sett_mod(sett_thread_idx(b, 0), GROUP));
    sett_val *stores = is_first_warp(b), *high = high_of_group(b, t, g, p), *whole = o->grouped ? sett_ge(p->rows, sett_mul(sett_add(high, 1), rows)) : NULL;
    const sett_arg barrier = SETT_A(sett_add(g->number, 1));
    move_terms(b, t, p);
    if (t->tr)
        wait_for_residual(t, g);
    for (int i = 0; i < mine; i++) {
        const block x = block_of(b, t, g, i);
        sett_tensor *part[] = {rows_of(b, o, to, g->acc, i), o->swiglu ? rows_of(b, o, to, g->acc, i + mine) : NULL};
        sett_val *number = column_of(b, t, p, &x); /* of all columns' */
        place here = {.at = p, .base = {.b = b, .batch = p->batch, .partition = partition, .same_rows = upright(o) ? 3 : 28 /* lanes that have a row */, .column_lanes = upright(o) ? 28 : 3}, .o = o, .thread = to, .tiler = sett_tuple(b, rows, ROWS), .tile = sett_tuple(b, high, number)};
        if (!t->tr) {
            sett_tma_store_wait_read(b, o->tuning.ping_pong ? staged_blocks(o) - 1 : mine - 1);
            sett_barrier(b, barrier, GROUP);
        }
        fill_columns(b, t, r2s, &here, part, as_instruction(o, x.sC));
        sett_fence_view_async_shared(b);
        sett_barrier(b, barrier, GROUP);
        sett_if (b, whole ? sett_and(stores, whole) : stores)
            store_boxes(t, x.sC, p, high, number);
        if (whole)
            sett_if (b, sett_not(whole))
                store_rows(b, t, x.sC, p, high, number);
        sett_tma_store_commit(b);
    }
}
