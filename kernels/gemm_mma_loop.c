/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of gemm_mma: stages that come by cp.async, or through registers where rows begin at less than 4 bytes or lie the other way
 * round, and the products of what has come. */
#include "gemm_mma.h"

/* ---- from memory to shared memory ---------------------------------------------------------------------- */
static bool is_byte(sett_dtype t)
{
    return sett_dtype_bits(t) == 8;
}

/* Which mode of shared memory is contiguous. ldmatrix transposes 16-bit types alone; an fma reads neighbours in M and N. */
static sett_major major_of(const sett_gemm_mma_options *o, int major)
{
    return sett__mma_by_fma(o) ? SETT_MN_MAJOR : is_byte(o->dtype) ? SETT_K_MAJOR : (sett_major)major;
}

static sett_tensor *shared(const mma_tile *t, sett_dtype d, int rows, int major)
{
    const int padding = sett__mma_padding(t->o, major), apart = rows + padding;
    sett_layout *l = padding ? sett_make_layout(t->b, T(rows, t->bk, t->o->tuning.stages), T(1, apart, apart * t->bk))
                             : sett_smem_layout(t->b, d, major_of(t->o, major), rows, t->bk, t->o->tuning.stages);
    return sett_make_smem_tensor(t->b, d, l, padding ? 16 : 1024);
}

static int least(int x, int y)
{
    return x < y ? x : y;
}

enum { TURNED = 4, OTHER_ACROSS = 8 }; /* a thread turns 4 x 4 elements of 8 bits, or one of f32; 8 threads read 32 bytes of memory */

/* Neighbouring threads copy neighbours in memory, as many elements each as the alignment allows. */
static void choose_copy(source *s, const mma_tile *t, sett_dtype d, int rows, int major)
{
    const int bytes = sett__bytes_of(d), threads = 32 * t->o->tuning.warps, known = t->o->align / bytes;
    const bool other = major_of(t->o, major) != (sett_major)major, turned = other && bytes == 1;
    const int vec = turned ? least(known, TURNED) : other ? 1 : known, deep = turned ? TURNED : 1;
    s->async = vec * bytes >= 4 && !turned;
    sett_copy_atom *atom = s->async ? sett_copy_async(t->b, d, vec * bytes * 8) : sett_copy_universal(t->b, d, vec * bytes * 8);
    const int wide = (major == SETT_K_MAJOR ? t->bk : rows) / vec, high = (major == SETT_K_MAJOR ? rows : t->bk) / deep;
    const int across = least(wide, other ? OTHER_ACROSS : threads), down = least(high, threads / across);
    s->threads = across * down;
    s->copy = major == SETT_K_MAJOR ? sett_make_tiled_copy_tv(atom, sett_make_layout(t->b, T(down, across), T(across, 1)), sett_make_layout(t->b, T(1, vec)))
                                    : sett_make_tiled_copy_tv(atom, sett_make_layout(t->b, T(across, down), T(1, across)), sett_make_layout(t->b, T(vec, deep)));
}

/* The tiles at `tile` of x (rows,K), to `smem`, (size,bk,stages). */
static void add_source(mma_tile *t, sett_tensor *x, sett_val *rows, sett_arg tile, sett_tensor *smem, int size, int major)
{
    source *s = &t->in[t->n_in++];
    choose_copy(s, t, sett_tensor_dtype(x), size, major);
    sett_thr_copy *mine = sett_get_slice(s->copy, t->thread);
    s->rows = rows;
    s->from = sett_partition_S(mine, sett_local_tile(x, T(size, t->bk), T(tile, ALL)));
    s->crd = sett_partition_S(mine, sett_local_tile(sett_identity_tensor(t->b, rows, t->K), T(size, t->bk), T(tile, ALL)));
    s->to = sett_partition_D(mine, smem);
}

enum { HELD = 16 }; /* elements that a thread loads before it stores them */

static int extent_of(const mma_tile *t, sett_tensor *x, int mode)
{
    return (int)sett_static(t->b, sett_size(sett_get(sett_tensor_layout(x), mode)));
}

/* Loads that are under way together, then their stores; so few that registers hold them, whatever their number. */
static void through_registers(const mma_tile *t, sett_tensor *from, sett_tensor *crd, sett_tensor *to, sett_arg bound)
{
    const int n = extent_of(t, to, 1), m = extent_of(t, to, 2), most = least(HELD, HELD * 2 / extent_of(t, to, 0)), across = least(n, most), down = least(m, most / across);
    sett_for (t->b, j, 0, m, down)
        sett_for (t->b, i, 0, n, across) {
            sett_val *held[HELD];
            for (int k = 0; k < across * down; k++) {
                const sett_arg at = sett_tuple(t->b, ALL, sett_add(i, k % across), sett_add(j, k / across));
                held[k] = sett_load(sett_slice(from, at), .pred = sett_elem_less(sett_slice(crd, at), bound));
            }
            for (int k = 0; k < across * down; k++)
                sett_store(sett_slice(to, ALL, sett_add(i, k % across), sett_add(j, k / across)), held[k]);
        }
}

/* k-tile k to a stage. What lies past the rows becomes zeros, and with `edge` what lies past K: before the last k-tile nothing does. */
static void copy_tile(const mma_tile *t, const source *s, sett_val *k, sett_val *stage, bool edge)
{
    sett_tensor *from = sett_slice(s->from, ALL, ALL, ALL, k), *crd = sett_slice(s->crd, ALL, ALL, ALL, k), *to = sett_slice(s->to, ALL, ALL, ALL, stage);
    const sett_arg bound = edge ? sett_tuple(t->b, s->rows, t->K) : sett_tuple(t->b, s->rows, ALL);
    if (s->async) {
        sett_copy(s->copy, from, to, .pred = sett_elem_less(crd, bound), .zfill = true);
        return;
    }
    through_registers(t, from, crd, to, bound);
}

static void copy_tiles(const mma_tile *t, sett_val *k, sett_val *stage, bool edge)
{
    for (const source *s = t->in; s < t->in + t->n_in; s++)
        if (s->threads == 32 * t->o->tuning.warps)
            copy_tile(t, s, k, stage, edge);
        else
            sett_if (t->b, sett_lt(t->thread, s->threads))
                copy_tile(t, s, k, stage, edge);
}

/* Starts the copies of k-tile k, where it is below `to`, a group of their own. */
static void fetch(const mma_tile *t, sett_val *k, sett_val *stage, sett_arg to)
{
    sett_build *b = t->b;
    sett_if (b, sett_lt(k, to)) {
        sett_val *whole = sett_lt(k, sett_floordiv(t->K, t->bk));
        sett_if (b, whole)
            copy_tiles(t, k, stage, false);
        sett_else (b)
            copy_tiles(t, k, stage, true);
    }
    sett_cp_async_commit_group(b);
}

/* ---- from shared memory to products --------------------------------------------------------------------- */
/* By ldmatrix, which has 16-bit units where it transposes; else an element at a time. */
static sett_copy_atom *reading(const mma_tile *t, sett_dtype d, int major)
{
    if (sett__mma_padding(t->o, major))
        return sett_copy_universal(t->b, d, sett_dtype_bits(d));
    return sett_ldmatrix(t->b, d, 4, major_of(t->o, major) == SETT_MN_MAJOR);
}

static reader reader_of(const mma_tile *t, sett_operand which, sett_tensor *smem, int major)
{
    if (t->o->tf32)
        smem = sett_recast_tensor(smem, SETT_TF32); /* the same bits */
    reader r = {.copy = sett_make_tiled_copy_mma_at(SETT_HERE, reading(t, sett_tensor_dtype(smem), major), t->mma, which)};
    sett_thr_copy *mine = sett_get_slice(r.copy, t->thread);
    r.fragment = sett_make_fragment_shape_at(SETT_HERE, t->mma, which, sett_shape(sett_partition_at(SETT_HERE, t->mine, which, sett_slice(smem, ALL, ALL, 0))));
    r.to = sett_retile(mine, r.fragment);
    r.from = sett_partition_S(mine, smem);
    return r;
}

static void read_step(const reader *r, sett_val *stage, int k)
{
    sett_copy(r->copy, sett_slice(r->from, ALL, ALL, k, stage), sett_slice(r->to, ALL, ALL, k));
}

/* By fma, the same of n steps of K. */
static void multiply_steps(const mma_tile *t, sett_val *stage, int from, int n)
{
    sett_tensor *A = sett_partition_A(t->mine, sett_slice(t->sA, ALL, ALL, stage)), *B = sett_partition_B(t->mine, sett_slice(t->sB, ALL, ALL, stage));
    for (int k = from; k < from + n; k++)
        sett_gemm(t->mma, t->acc, sett_slice(A, ALL, ALL, k), sett_slice(B, ALL, ALL, k), t->acc);
}

/* acc += the stage's product. What the next step multiplies is read before this one is multiplied. */
static void multiply(const mma_tile *t, sett_val *stage)
{
    if (sett__mma_by_fma(t->o)) {
        multiply_steps(t, stage, 0, t->bk);
        return;
    }
    const int steps = extent_of(t, t->a.fragment, 2);
    for (int k = 0; k <= steps; k++) {
        if (k < steps)
            read_step(&t->a, stage, k), read_step(&t->w, stage, k);
        if (k)
            sett_gemm(t->mma, t->acc, sett_slice(t->a.fragment, ALL, ALL, k - 1), sett_slice(t->w.fragment, ALL, ALL, k - 1), t->acc);
    }
}

/* ---- by fma, copies between the steps -------------------------------------------------------------------- */
/* Copies of a stage that all begin at once keep shared memory from the vectors that are read for the first steps. So each share of the steps
 * has a share of the copies behind it, without a branch, which would part the steps: that is for tiles that lie inside A and B. */
enum { SHARES = 4 };

/* Of the copies of this thread, share i. */
static void copy_share(const mma_tile *t, const source *s, sett_val *k, sett_val *stage, int i)
{
    const int rows = extent_of(t, s->to, 1), parts = rows * extent_of(t, s->to, 2);
    for (int j = parts * i / SHARES; j < parts * (i + 1) / SHARES; j++)
        sett_copy(s->copy, sett_slice(s->from, ALL, j % rows, j / rows, k), sett_slice(s->to, ALL, j % rows, j / rows, stage));
}

static void copy_shares(const mma_tile *t, sett_val *k, sett_val *stage, int i)
{
    for (const source *s = t->in; s < t->in + t->n_in; s++)
        if (s->threads == 32 * t->o->tuning.warps)
            copy_share(t, s, k, stage, i);
        else
            sett_if (t->b, sett_lt(t->thread, s->threads))
                copy_share(t, s, k, stage, i);
}

/* Of a tile inside M and N, k-tiles from `from` on while the one whose copies begin lies inside K; of others none. Gives the first that is
 * left. */
static sett_val *multiply_inside(const mma_tile *t, sett_arg from)
{
    sett_build *b = t->b;
    const int ahead = t->o->tuning.stages - 1, steps = t->bk / SHARES;
    sett_val *below = sett_le(sett_mul(sett_add(t->m, 1), t->o->tuning.bm), t->in[0].rows), *left_of = sett_le(sett_mul(sett_add(t->n, 1), sett__mma_columns(t->o)), t->in[1].rows);
    sett_val *to = sett_where(sett_and(below, left_of), sett_max(sett_sub(sett_floordiv(t->K, t->bk), ahead), from), from);
    sett_for (b, k, from, to, 1) {
        sett_val *s = sett_sub(k, from), *stage = sett_mod(s, ahead + 1), *next = sett_mod(sett_add(s, ahead), ahead + 1);
        sett_cp_async_wait_group(b, ahead - 1);
        sett_sync_threads(b);
        for (int i = 0; i < SHARES; i++) {
            multiply_steps(t, stage, i * steps, steps);
            copy_shares(t, sett_add(k, ahead), next, i);
        }
        sett_cp_async_commit_group(b);
    }
    return to;
}

/* ---- both ------------------------------------------------------------------------------------------------- */
/* Threads of fma, along M and N. Lanes beside each other differ in N, and the next bit is of M: shared memory gives the 16 bytes that two such
 * lanes have in common once, so that the vectors of a warp, of 8 places in M and 4 in N, take half as long. */
static sett_layout *threads_of_fma(sett_build *b, const sett_gemm_mma_options *o)
{
    const int lanes = sett__mma_lanes_high(o), high = sett__mma_high(o) / 4 / lanes, wide = sett__mma_wide(o) / 4 * lanes / 32;
    return sett_make_layout(b, T(T(lanes, high), T(2, 16 / lanes, wide), 1), T(T(2, 32), T(1, 2 * lanes, 32 * high), 0));
}

/* Warps side by side, each of which has two atoms beside each other in N, so that one ldmatrix x4 fills the B of both. Of fma a thread has
 * 4 rows and 4 columns beside each other: 16 bytes of shared memory. */
static sett_tiled_mma *product_of(sett_build *b, const sett_gemm_mma_options *o)
{
    const int high = sett__mma_high(o), wide = sett__mma_wide(o), k = 32 / sett__bytes_of(o->dtype);
    if (sett__mma_by_fma(o))
        return sett_make_tiled_mma(sett_mma_universal(b, .acc = SETT_F32), threads_of_fma(b, o),
            T(sett_make_layout(b, T(high / 4, 4), T(4, 1)), sett_make_layout(b, T(wide / 4, 4), T(4, 1)), ALL));
    const sett_dtype x = o->tf32 ? SETT_TF32 : o->dtype, y = o->tf32 ? SETT_TF32 : o->b;
    sett_mma_atom *atom = sett_mma_sync(b, .a = x, .b = y, .acc = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .m = 16, .n = 8, .k = k);
    return sett_make_tiled_mma(atom, T(high / 16, wide / 16, 1), T(high, sett_make_layout(b, T(8, wide / 16, 2), T(1, 16, 8)), k));
}

bool sett__mma_dealt(const sett_gemm_mma_options *o)
{
    return !sett__mma_by_fma(o) && major_of(o, o->b_major) == SETT_K_MAJOR;
}

void sett__mma_prepare(mma_tile *t, sett_tensor *A, sett_tensor *B, sett_val *M, sett_val *N)
{
    const sett_gemm_mma_options *o = t->o;
    const int columns = sett__mma_columns(o);
    t->sA = shared(t, o->dtype, o->tuning.bm, o->a_major), t->sB = shared(t, o->b, o->tuning.bn, o->b_major);
    sett_tensor *to = !sett__mma_dealt(o) ? t->sB : sett_composition(t->sB, T(SETT__MMA_ROWS(t->b, o->tuning.bn), t->bk, o->tuning.stages));
    add_source(t, A, M, t->m, t->sA, o->tuning.bm, o->a_major);
    for (int i = 0; i <= o->swiglu; i++) /* rows of up are N rows further on than those of the gate */
        add_source(t, i ? sett_domain_offset(B, N, 0) : B, N, t->n, o->swiglu ? sett_local_tile(to, T(columns, t->bk), T(i, 0)) : to, columns, o->b_major);
    t->mma = product_of(t->b, o);
    t->mine = sett_get_slice(t->mma, t->thread);
    t->acc = sett_make_fragment_C(t->mma, sett_partition_shape_C(t->mma, T(o->tuning.bm, o->tuning.bn)));
    if (!sett__mma_by_fma(o))
        t->a = reader_of(t, SETT_OPERAND_A, t->sA, o->a_major), t->w = reader_of(t, SETT_OPERAND_B, t->sB, o->b_major);
}

void sett__mma_loop(mma_tile *t, sett_arg from, sett_arg to)
{
    sett_build *b = t->b;
    const int stages = t->o->tuning.stages;
    sett_for (b, s, 0, stages - 1, 1)
        fetch(t, sett_add(s, from), s, to);
    const sett_arg rest = sett__mma_by_fma(t->o) ? SETT_A(multiply_inside(t, from)) : from;
    sett_for (b, k, rest, to, 1) {
        sett_cp_async_wait_group(b, stages - 2); /* k-tile k has come for this thread, */
        sett_sync_threads(b);                    /* for all; and all have read the stage that is written next */
        sett_val *next = sett_add(k, stages - 1), *s = sett_sub(k, from);
        fetch(t, next, sett_mod(sett_add(s, stages - 1), stages), to);
        multiply(t, sett_mod(s, stages));
    }
}
