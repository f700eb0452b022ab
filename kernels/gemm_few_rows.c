/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A B^T) for few rows of A: what takes time is to read B, once. A warp has some rows of B, which its lanes load straight to
 * registers, 16 bytes of several vectors at once: warps have nothing to share but A, which is small and stays in L1. Products are
 * multiply-adds, or dp4a; where these would take longer than memory, mma.sync: of 16 rows of B as its M, or of 8 as its N, and the rows of
 * A the other. Warps that share rows have each a part of K. The sums meet in shared memory, in one order. */
#include "block_sums.h"
#include <limits.h>

enum { WARP = 32, MMA_M = 16, MMA_N = 8, MOST_ROWS = 8 };

/* How the work is shared, which follows from the options. */
typedef struct plan {
    const sett_gemm_few_rows_options *o;
    bool mma, b_is_n;       /* by mma.sync; rows of B are its N, else its M */
    sett_dtype held, sum;   /* operands in registers; sums */
    int rows_a, rows_b;     /* of a lane */
    int lanes, depth, step; /* lanes that have a row together; elements of a row that a lane, and that all of them, load at once */
    int halves, columns;    /* 2 of swiglu; columns of C of a warp */
    int tiles;              /* warps of a block that have rows of their own */
    sett_mma_atom *atom;
} plan;

static plan plan_of(const sett_gemm_few_rows_options *o)
{
    const sett_gemm_few_rows_tuning *tune = &o->tuning;
    plan p = {.o = o,
        .mma = tune->rows_per_warp >= MMA_N,
        .b_is_n = tune->rows_per_warp == MMA_N,
        .sum = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32,
        .halves = 1 + o->swiglu};
    p.held = o->dtype == SETT_I8 ? SETT_I8 : !p.mma ? SETT_F32 : sett__is_f8(o->dtype) ? SETT_F16 /* has their values */ : o->dtype;
    p.rows_a = p.mma ? 1 : o->rows;
    p.rows_b = p.mma ? tune->rows_per_warp / MMA_N : tune->rows_per_warp;
    p.lanes = p.mma ? WARP / MMA_N : WARP;
    p.depth = sett__vec(o->dtype) * tune->vectors;
    p.step = p.lanes * p.depth;
    p.columns = tune->rows_per_warp / p.halves;
    p.tiles = tune->split ? tune->threads / WARP / tune->split : 0;
    return p;
}

/* ---- options --------------------------------------------------------------------------------------------- */
/* Chooses what the caller left 0. By the times on an H200 multiply-adds keep up with memory for one row of A alone, and blocks of few rows of
 * B, whose warps have one to four steps each, read fastest. */
static void choose(sett_gemm_few_rows_options *o, const choice *c)
{
    sett_gemm_few_rows_tuning *tune = &o->tuning;
    const bool mma = tune->rows_per_warp ? tune->rows_per_warp >= MMA_N : o->dtype != SETT_F32 && o->rows > 1 && (!c->sm || c->sm >= 80);
    sett__either(&tune->threads, mma ? 256 : 128);
    sett__either(&tune->rows_per_warp, mma ? MMA_N : o->rows > 2 ? 4 : 2);
    const int held = mma ? (tune->rows_per_warp + 7) / 8 : tune->rows_per_warp;
    const bool many = !mma && 8 / held * sett__vec(o->dtype) * o->rows > 128; /* registers of A */
    sett__either(&tune->vectors, mma || many ? (held > 4 ? 1 : 4 / held) : 8 / held);
    if (tune->split)
        return;
    const plan p = plan_of(o);
    const int warps = tune->threads / WARP, most = mma ? 8 : 4;
    for (tune->split = 1; 2 * tune->split <= most && warps % (2 * tune->split) == 0 && (!tune->k || tune->k >= 2 * tune->split * p.step);)
        tune->split *= 2;
}

static bool is_power_of_two(int n, int from, int to)
{
    return n >= from && n <= to && !(n & (n - 1));
}

static epilogue_options epilogue_of(const sett_gemm_few_rows_options *o)
{
    return (epilogue_options){.named = &o->terms, .narrow = "sett_gemm_few_rows", .scaled = o->scaled, .residual = o->residual, .swiglu = o->swiglu, .sums = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .c = o->c};
}

static void settle_problem(sett_gemm_few_rows_options *o, choice *c)
{
    const sett_dtype t = o->dtype;
    if (!sett__is_small_float(t) && !sett__is_f8(t) && t != SETT_I8)
        REFUSE(c, ".dtype is %s: f32, f16, bf16, f8E4M3FN, f8E5M2 or i8", t ? sett_dtype_name(t) : "not given");
    o->c = o->c ? o->c : t == SETT_F16 || t == SETT_F32 ? t : SETT_BF16;
    if (!sett__is_small_float(o->c) && !sett__is_f8(o->c) && !(o->c == SETT_I8 && o->terms.quantise))
        REFUSE(c, ".c is %s: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise", sett_dtype_name(o->c));
    sett__either(&o->rows, MOST_ROWS);
    sett__in_range(c, "rows", o->rows, 1, MOST_ROWS);
    const epilogue_options e = epilogue_of(o);
    sett__check_epilogue(&e, c);
}

static void settle(void *options, choice *c)
{
    sett_gemm_few_rows_options *o = options;
    sett_gemm_few_rows_tuning *tune = &o->tuning;
    settle_problem(o, c);
    sett__in_range(c, "k", tune->k, 0, INT_MAX);
    if (tune->threads)
        sett__whole_warps(c, tune->threads);
    if (tune->rows_per_warp && !is_power_of_two(tune->rows_per_warp, o->swiglu ? 2 : 1, 32))
        REFUSE(c, ".rows_per_warp is %d: %s2, 4, 8, 16 or 32", tune->rows_per_warp, o->swiglu ? "with .swiglu " : "1, ");
    if (tune->rows_per_warp >= MMA_N && o->dtype == SETT_F32)
        REFUSE(c, ".rows_per_warp is %d: of f32 at most 4", tune->rows_per_warp);
    if (tune->vectors && !is_power_of_two(tune->vectors, 1, 8))
        REFUSE(c, ".vectors is %d: 1, 2, 4 or 8", tune->vectors);
    if (*c->why)
        return;
    choose(o, c);
    const int warps = tune->threads / WARP;
    if (tune->split < 1 || warps % tune->split)
        REFUSE(c, ".split is %d: a divisor of the %d warps of %d threads", tune->split, warps, tune->threads);
    tune->k = 0; /* the same shape is the same kernel */
}

/* ---- products -------------------------------------------------------------------------------------------- */
typedef struct operands {
    sett_tensor *a[MOST_ROWS], *b[MOST_ROWS]; /* a lane's rows */
    sett_layout *wide;
    sett_val *lane, *K; /* lane: of those that share a row */
} operands;

static sett_mma_atom *atom_of(sett_build *b, const plan *p)
{
    if (p->mma)
        return sett_mma_sync(b, .a = p->held, .b = p->held, .acc = p->sum, .m = MMA_M, .n = MMA_N);
    return p->held == SETT_I8 ? sett_dp4a(b, .a = SETT_I8, .b = SETT_I8) : sett_mma_universal(b, .acc = SETT_F32);
}

/* n rows in registers, one behind the other, as an operand of the product. A product does not mind the order of k: each lane's part of
 * mma.sync is its 16 bytes as they lie, which are the same k of both operands. */
static sett_tensor *fragment(sett_build *b, const plan *p, sett_tensor *rows, int n, bool is_m)
{
    const int d = p->depth, e = 32 / sett_dtype_bits(p->held); /* e: elements of a register */
    sett_layout *l = p->mma && is_m       ? sett_make_layout(b, T(T(e, 2, 2), n / 2, d / (2 * e)), T(T(1, d, e), 2 * d, 2 * e))
                     : p->mma             ? sett_make_layout(b, T(T(e, 2), 1, d / (2 * e)), T(T(1, e), 0, 2 * e))
                     : p->held == SETT_I8 ? sett_make_layout(b, T(4, n, d / 4), T(1, d, 4))
                                          : sett_make_layout(b, T(n, d), T(d, 1));
    return sett_composition(rows, l);
}

static sett_tensor *sums_of(sett_build *b, const plan *p)
{
    sett_tensor *acc = p->mma               ? sett_make_rmem_tensor(b, p->sum, T(2, 2), (p->rows_b + 1) / 2, 1)
                       : p->held == SETT_I8 ? sett_make_rmem_tensor(b, p->sum, 1, p->rows_b, p->rows_a)
                                            : sett_make_rmem_tensor(b, p->sum, p->rows_b, p->rows_a);
    sett_fill(acc, 0);
    return acc;
}

/* Step s of n rows. */
static void load(const operands *t, const plan *p, sett_tensor *const *rows, int n, sett_val *s, sett_val *in, sett_cache cache, sett_val **to)
{
    for (int i = 0; i < n; i++)
        to[i] = sett_load(sett__part(rows[i], SETT_A(s), p->step, t->wide, t->lane), .pred = in, .cache = cache);
}

/* n of these, and rows of zeros behind them up to `all`. */
static sett_tensor *held(sett_build *b, const plan *p, sett_val *const *x, int n, int all)
{
    sett_tensor *to = sett_make_rmem_tensor(b, p->held, all * p->depth);
    for (int i = 0; i < all; i++) {
        sett_tensor *row = sett_local_tile(to, T1(p->depth), T1(i));
        if (i < n)
            sett_store(row, sett_to(x[i], p->held));
        else
            sett_fill(row, 0);
    }
    return to;
}

static void multiply(sett_build *b, const plan *p, const operands *t, sett_val *s, bool tail, sett_tensor *acc)
{
    sett_val *x[MOST_ROWS], *w[MOST_ROWS], *in = NULL;
    if (tail)
        in = sett_elem_less(sett__part(sett_identity_tensor(b, T1(t->K)), SETT_A(s), p->step, t->wide, t->lane), T1(t->K));
    load(t, p, t->b, p->rows_b, s, in, p->mma ? SETT_CACHE_L2_128B : SETT_CACHE_DEFAULT, w); /* mma.sync's lanes have 64 bytes of a row at once: half a line */
    load(t, p, t->a, p->rows_a, s, in, SETT_CACHE_DEFAULT, x);
    const int rows_a = p->b_is_n ? 2 : p->rows_a; /* the second one is of zeros: M is 16 */
    sett_tensor *rows = fragment(b, p, held(b, p, w, p->rows_b, p->rows_b), p->rows_b, !p->b_is_n), *others = fragment(b, p, held(b, p, x, p->rows_a, rows_a), rows_a, p->b_is_n);
    sett_gemm(p->atom, acc, p->b_is_n ? others : rows, p->b_is_n ? rows : others, acc);
}

/* Where a lane's row i of B counts: the column of C, of those of its warp, and the half of B. eighth: of mma.sync, which row of 8. */
typedef struct slot {
    sett_val *column, *half;
} slot;
static slot slot_of(sett_build *b, const plan *p, int i, sett_val *eighth)
{
    if (p->b_is_n)
        return (slot){sett_floordiv(eighth, p->halves), sett_mod(eighth, p->halves)};
    sett_val *column = sett_const(b, SETT_I32, p->mma ? MMA_N * (i / p->halves) : i / p->halves);
    return (slot){p->mma ? sett_add(eighth, column) : column, sett_const(b, SETT_I32, i % p->halves)};
}

/* ---- sums of a block ------------------------------------------------------------------------------------- */
/* The lanes' sums of n numbers, a power of two: each lane gives half of what it has away at each step, and in the end has number
 * lane * n / 32 and, where there are more than 32, those behind it. */
static sett_val *add_lanes(sett_val *sums, int n, sett_val *lane)
{
    for (int mask = WARP / 2; mask; mask /= 2) {
        if (n == 1) {
            sums = sett_add(sums, sett_shuffle_sync_bfly(sums, mask, WARP));
            continue;
        }
        n /= 2;
        sett_val *both = sett_reshape(sums, T(n, 2)), *low = sett_element(both, ALL, 0), *high = sett_element(both, ALL, 1), *upper = sett_ne(sett_and(lane, mask), 0);
        sums = sett_add(sett_where(upper, high, low), sett_shuffle_sync_bfly(sett_where(upper, low, high), mask, WARP));
    }
    return sums;
}

/* Of multiply-adds. S: (column of the block, half, row of A, part of K). */
static void leave_sums(sett_build *b, const plan *p, sett_tensor *acc, sett_tensor *S, sett_val *column, sett_val *part)
{
    const int n = p->rows_b * p->rows_a;
    int padded = 1;
    while (padded < n)
        padded *= 2;
    sett_tensor *all = sett_make_rmem_tensor(b, p->sum, padded);
    sett_fill(all, 0);
    sett_store(sett_composition(all, sett_make_layout(b, n)), sett_reshape(sett_load(acc), n));
    sett_val *lane = sett_lane_idx(b), *sums = add_lanes(sett_load(all), padded, lane);
    const int each = padded > WARP ? padded / WARP : 1;
    for (int j = 0; j < each; j++) {
        sett_val *i = sett_add(sett_floordiv(sett_mul(lane, padded), WARP), j), *row = sett_mod(i, p->rows_b), *m = sett_floordiv(i, p->rows_b);
        sett_val *has = sett_lt(m, p->rows_a);
        if (padded < WARP)
            has = sett_and(has, sett_eq(sett_mod(lane, WARP / padded), 0));
        sett_if (b, has)
            sett_set(S, sett_element(sums, j), sett_add(column, sett_floordiv(row, p->halves)), sett_mod(row, p->halves), m, part);
    }
}

/* Of mma.sync, whose sums are whole: a lane has two of N, of each 8 rows of M. */
static void leave_mma_sums(sett_build *b, const plan *p, sett_tensor *acc, sett_tensor *S, sett_val *column, sett_val *part)
{
    sett_val *lane = sett_lane_idx(b), *of_m = sett_floordiv(lane, 4), *of_n = sett_mul(sett_mod(lane, 4), 2);
    for (int i = 0; i < p->rows_b; i++)
        for (int j = 0; j < 2; j++) {
            const slot c = p->b_is_n ? slot_of(b, p, i, sett_add(of_n, j)) : slot_of(b, p, i, of_m);
            sett_set(S, sett_at(acc, T(j, i % 2), i / 2, 0), sett_add(column, c.column), c.half, p->b_is_n ? of_m : sett_add(of_n, j), part);
        }
}

/* ---- the kernel ------------------------------------------------------------------------------------------ */
/* A lane's rows. Those past the edges are the last one, whose sums are not stored. */
static operands operands_of(sett_build *b, const plan *p, sett_tensor *A, sett_tensor *B, sett_val *m, sett_val *n, sett_val *M, sett_val *N, sett_val *K)
{
    sett_val *lane = sett_lane_idx(b), *eighth = sett_floordiv(lane, 4);
    operands t = {.wide = sett__wide(b, p->lanes, sett__vec(p->o->dtype), p->o->tuning.vectors), .lane = p->mma ? sett_mod(lane, 4) : lane, .K = K};
    for (int i = 0; i < p->rows_a; i++)
        t.a[i] = sett_slice(A, sett_min(sett_add(m, p->mma ? eighth : sett_const(b, SETT_I32, i)), sett_sub(M, 1)), ALL);
    for (int i = 0; i < p->rows_b; i++) {
        const slot c = slot_of(b, p, i, eighth);
        sett_val *row = sett_add(sett_min(sett_add(n, c.column), sett_sub(N, 1)), sett_mul(c.half, N));
        t.b[i] = sett_slice(B, sett_to(row, SETT_I64), ALL);
    }
    return t;
}

static void run(sett_build *b, const plan *p, sett_tensor *A, sett_tensor *B, sett_tensor *C, sett_val *M, sett_val *N, sett_val *K, terms *s)
{
    const int split = p->o->tuning.split;
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *part = sett_mod(warp, split), *column = sett_mul(sett_floordiv(warp, split), p->columns);
    sett_val *m = sett_mul(sett_block_idx(b, 1), p->o->rows), *n = sett_mul(sett_block_idx(b, 0), p->columns * p->tiles);
    sett_tensor *S = sett_make_smem_tensor(b, p->sum, sett_make_layout(b, T(p->columns * p->tiles, p->halves, p->mma ? MMA_N : p->o->rows, split)), 16, .name = "sums");
    operands t = operands_of(b, p, A, B, m, sett_add(n, column), M, N, K);
    if (!p->o->no_pdl)
        sett_griddepcontrol_wait(b);
    sett_tensor *acc = sums_of(b, p);
    sett_val *steps = sett_floordiv(K, p->step);
    sett_for (b, i, part, steps, split)
        multiply(b, p, &t, i, false, acc);
    sett_if (b, sett_and(sett_ne(sett_mod(K, p->step), 0), sett_eq(sett_mod(steps, split), part)))
        multiply(b, p, &t, steps, true, acc);
    if (!p->o->no_pdl) /* not at the start: the next kernel's blocks would fill the gaps between these, so that some multiprocessors have more of them to read than others */
        sett_griddepcontrol_launch_dependents(b);
    (p->mma ? leave_mma_sums : leave_sums)(b, p, acc, S, column, part);
    const block_sums f = {.threads = p->o->tuning.threads, .columns = p->columns * p->tiles, .rows = p->o->rows, .halves = p->halves, .parts = split, .c = p->o->c};
    sett__finish_sums(b, &f, S, C, m, n, s);
}

void sett_gemm_few_rows_with_at(sett_site site, sett_build *b, const sett_gemm_few_rows_options *user, sett_gemm_epilogue then, void *data)
{
    sett_gemm_few_rows_options o;
    if (!sett__kernel_options(b, &sett__gemm_few_rows, user, &o))
        return;
    plan p = plan_of(&o);
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *K = sett_sym(b, "K");
    const product x = {.b = b, .M = M, .N = N, .align_c = sett_dtype_bits(o.c) / 8, .of = epilogue_of(&o)};
    sett_tensor *A = sett__operand(&x, "A", o.dtype, 16, M, K, SETT_K_MAJOR), *B = sett__operand(&x, "B", o.dtype, 16, o.swiglu ? sett_mul(N, 2) : N, K, SETT_K_MAJOR);
    const outputs out = sett__outputs(&x);
    terms s = sett__terms(&x, &out, NULL);
    s.then = then, s.user = data, s.site = site, s.function = "sett_gemm_few_rows_with";
    p.atom = atom_of(b, &p);
    sett_block(b, o.tuning.threads);
    sett_grid(b, sett_ceil_div(N, p.columns * p.tiles), sett_ceil_div(M, o.rows));
    run(b, &p, A, B, out.C, M, N, K, &s);
}

void sett_gemm_few_rows(sett_build *b, const void *user)
{
    sett_gemm_few_rows_with(b, user, NULL, NULL);
}

#define P(member_) SETT_FAMILY_PARAM(sett_gemm_few_rows_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gemm_few_rows_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(c), P(rows), P(scaled), P(swiglu), P(residual), TUNED(threads), TUNED(rows_per_warp),
    TUNED(split), TUNED(vectors), TUNED(k), TERM_PARAMS(sett_gemm_few_rows_options)};
FAMILY(gemm_few_rows, params);
