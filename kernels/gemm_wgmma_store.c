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
    return base->partition_tile(base, sett_local_tile(sett__wgmma_rows(p->at, whole), p->tiler, p->tile));
}

static sett_tensor *partition_tile(const sett_epilogue_tile *base, sett_tensor *tile)
{
    const place *p = (const place *)base;
    return part_of(p->o, sett_partition_S(p->thread, as_instruction(p->o, tile)), p->part);
}

/* Number j of such sums, of registers as the copy to shared memory has them. */
static sett_tensor *sums_at(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *acc, int j)
{
    return sett__bytes_of(o->c) == 2 ? part_of(o, acc, j) : sett_slice(sett_composition(acc, sett_make_layout(b, T(4, rows_of_group(o) / 8))), ALL, j);
}

/* 64 columns of the tile: sums of each thread and what they are multiplied by or NULL; where they go, (rows of C,64). */
typedef struct span {
    sett_tensor *from[2], *sC;
} span;

static int parts_of(const sett_gemm_wgmma_options *o)
{
    return rows_of_group(o) * ROWS / GROUP / each_of(o);
}

/* What becomes of part j of them, in the shape that sett_epilogue_partition gives. */
static sett_val *finished(sett_build *b, const wgmma_parts *t, place *at, const span *x, int j)
{
    const sett_gemm_wgmma_options *o = t->o;
    sett_tensor *shape = part_of(o, sett_partition_S(at->thread, as_instruction(o, x->sC)), j);
    at->part = j;
    t->terms->residual_part = t->tr ? shape : NULL;
    at->base.same_columns = j > 0 && !upright(o);
    sett_val *sums = sett_load(sums_at(b, o, x->from[0], j));
    if (x->from[1])
        sums = sett_mul(sett__gate(t->terms, sums), sett__up(t->terms, sett_load(sums_at(b, o, x->from[1], j))));
    return sett__epilogue(&at->base, sett_reshape(sums, sett_shape(shape)), t->terms);
}

/* Of .quantise 2, before any of the tile is stored. */
static void hold_columns(sett_build *b, const wgmma_parts *t, place *at, const span *x)
{
    for (int j = 0; j < parts_of(t->o); j++)
        sett__hold(sums_at(b, t->o, x->from[0], j), finished(b, t, at, x, j));
}

static sett_val *scaled(sett_build *b, const wgmma_parts *t, place *at, const span *x, int j)
{
    at->part = j;
    sett_val *held = sett__held(sums_at(b, t->o, x->from[0], j));
    return sett__block_scaled(t->terms, &at->base, sett_reshape(held, sett_shape(at->base.partition_tile(&at->base, x->sC))));
}

static void fill_columns(sett_build *b, const wgmma_parts *t, sett_tiled_copy *r2s, place *at, const span *x)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int each = each_of(o);
    sett_tensor *held = sett_make_rmem_tensor(b, o->c, each), *to = sett_partition_D(at->thread, as_instruction(o, x->sC));
    for (int j = 0; j < parts_of(o); j++) {
        sett_val *value = (in_blocks(&o->terms) ? scaled : finished)(b, t, at, x, j);
        sett_store(held, sett_reshape(sett__rounded(value, o->c), each));
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

/* Upright a thread has one box of A and 64 columns of C at a time, else 64 columns and, of each box, a sum for two of its rows. */
sums_inside sett__wgmma_inside(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int box = box_of_a(o), boxes = upright(o) ? 1 : o->tuning.bm / box, mine = blocks_of_group(o);
    sums_inside x = {.each = (upright(o) ? ROWS : box) / 2};
    sett_val *row = sett_mul(sett_value(b, sett_get(p->at, 0)), o->tuning.bm);
    if (upright(o)) /* its warp's 16 rows */
        row = sett_add(row, sett_add(sett_mul(g->number, ROWS), sett_mul(sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), GROUP / WARP), ROWS / (GROUP / WARP))));
    for (int i = 0; i < mine * halves_of(o); i++) {
        const block y = block_of(b, t, g, i % mine);
        sett_val *column = sett_lt(sett_mul(column_of(b, t, p, &y), ROWS), t->N);
        for (int j = 0; j < boxes; j++)
            x.is[i * boxes + j] = sett_and(column, sett_lt(sett_add(row, j * box), p->rows));
    }
    return x;
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
    sett_set(g->residuals, sett_add(before, 1), 0);
    sett_mbarrier_wait(sett_slice(t->came, g->number), sett_mod(before, 2));
}

/* What a warp group does with a tile. */
typedef struct way_out {
    const wgmma_parts *t;
    const wgmma_group *g;
    const wgmma_place *p;
    sett_tiled_copy *r2s;
    sett_thr_copy *to;
    sett_val *high;
    sett_arg barrier; /* of the group */
} way_out;

/* Its block number i of 64 columns. */
typedef struct part_of_tile {
    span columns;
    place at;
    sett_val *number; /* of all columns' blocks */
} part_of_tile;

static part_of_tile part_of_group(sett_build *b, const way_out *w, int i)
{
    const sett_gemm_wgmma_options *o = w->t->o;
    const int mine = blocks_of_group(o), rows = rows_of_group(o);
    const block x = block_of(b, w->t, w->g, i);
    part_of_tile y = {.columns = {.from = {rows_of(b, o, w->to, w->g->acc, i), o->swiglu ? rows_of(b, o, w->to, w->g->acc, i + mine) : NULL}, .sC = x.sC}, .number = column_of(b, w->t, w->p, &x)};
    y.at = (place){.at = w->p, .base = {.b = b, .batch = w->p->batch, .partition = partition, .partition_tile = partition_tile, .same_rows = upright(o) ? 3 : 28 /* lanes that have a row */, .column_lanes = upright(o) ? 28 : 3}, .o = o, .thread = w->to, .tiler = sett_tuple(b, rows, ROWS), .tile = sett_tuple(b, w->high, y.number)};
    return y;
}

/* Of .quantise 2: the block of 128 columns, of the group's rows, that its block number i of 64 is in. */
static void scale_block(const way_out *w, int i)
{
    const sett_gemm_wgmma_options *o = w->t->o;
    const int step = has_rows_alone(o) ? 1 : groups_of(o); /* blocks of 64 from one of the group's to the next */
    sett__block_scaling_at(w->t->terms, has_rows_alone(o) ? w->g->number : NULL, i * step * ROWS / EPILOGUE_BLOCK, ROWS);
}

/* The threads that share rows of the tile meet. */
static void meet(sett_build *b, const way_out *w)
{
    const sett_gemm_wgmma_options *o = w->t->o;
    enum { BOTH = 3 /* barriers of the groups are below */ };
    if (has_rows_alone(o))
        sett_barrier(b, w->barrier, GROUP);
    else
        sett_barrier(b, BOTH, GROUP * groups_of(o));
}

/* What is stored of the tile stays in the registers of its sums until all threads know the largest of each row's 128 columns. */
static void settle_blocks(sett_build *b, const way_out *w)
{
    const wgmma_parts *t = w->t;
    const sett_gemm_wgmma_options *o = t->o;
    const int threads = has_rows_alone(o) ? GROUP : GROUP * groups_of(o);
    sett_val *n = sett_value(b, sett_get(w->p->at, 1));
    for (int i = 0; i < blocks_of_group(o); i++) {
        part_of_tile x = part_of_group(b, w, i);
        scale_block(w, i);
        hold_columns(b, t, &x.at, &x.columns);
    }
    meet(b, w);
    const block_place to = {.SD = sett__wgmma_rows(w->p, t->terms->to.SD), .part = has_rows_alone(o) ? w->g->number : NULL, .row = sett_mul(w->high, rows_of_group(o)), .rows = w->p->rows,
        .block = sett_mul(n, columns(o) / EPILOGUE_BLOCK)};
    sett__settle_blocks(t->terms, &to, sett_mod(sett_thread_idx(b, 0), threads), threads);
    meet(b, w);
}

/* What a warp group has of the tile, 64 columns at a time: threads write them, and one begins their copy, when the one of the last tile has
 * read the place, or R has come there. What lies past the edges is left out. */
void sett__wgmma_store(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p)
{
    const sett_gemm_wgmma_options *o = t->o;
    const sett_dtype d = o->c;
    const int mine = blocks_of_group(o), rows = rows_of_group(o);
    sett_copy_atom *move = sett__bytes_of(d) == 2 ? sett_stmatrix(b, d, each_of(o) / 2, !upright(o)) : sett_copy_universal(b, d, sett_dtype_bits(d));
    way_out w = {.t = t, .g = g, .p = p, .r2s = sett_make_tiled_copy_C(move, sett__wgmma_product(b, o, 1, rows))};
    w.to = sett_get_slice(w.r2s, sett_mod(sett_thread_idx(b, 0), GROUP));
    sett_val *stores = is_first_warp(b);
    w.high = high_of_group(b, t, g, p);
    sett_val *whole = o->grouped ? sett_ge(p->rows, sett_mul(sett_add(w.high, 1), rows)) : NULL;
    w.barrier = SETT_A(sett_add(g->number, 1));
    move_terms(b, t, p);
    if (t->tr)
        wait_for_residual(t, g);
    if (in_blocks(&o->terms))
        settle_blocks(b, &w);
    for (int i = 0; i < mine; i++) {
        part_of_tile x = part_of_group(b, &w, i);
        if (in_blocks(&o->terms))
            scale_block(&w, i);
        if (!t->tr) {
            sett_tma_store_wait_read(b, o->tuning.ping_pong ? staged_blocks(o) - 1 : mine - 1);
            sett_barrier(b, w.barrier, GROUP);
        }
        fill_columns(b, t, w.r2s, &x.at, &x.columns);
        sett_fence_view_async_shared(b);
        sett_barrier(b, w.barrier, GROUP);
        sett_if (b, whole ? sett_and(stores, whole) : stores)
            store_boxes(t, x.columns.sC, p, w.high, x.number);
        sett_tma_store_commit(b);
        if (whole)
            sett_if (b, sett_not(whole))
                store_rows(b, t, x.columns.sC, p, w.high, x.number);
    }
}
