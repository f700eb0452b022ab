/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A W^T) with packed weights, for few rows of A, from sm_80 on: a warp has 16 rows of B, which are the M of mma.sync, and some rows of
 * A as its N. Its lanes load both straight to registers. Warps that share rows have each a part of K, and their sums meet in shared memory, in
 * one order. */
#include "block_sums.h"
#include "weights.h"
#include <limits.h>
#include <sett/kernels/gemm_mixed.h>

enum { WARP = 32, SLICE = 16 /* rows of B of a warp */, SLICES = WEIGHTS_PIECE / SLICE, EIGHT = 8 /* rows of A of an instruction */, STEP = 16, TWO = 2, PIECES_MOST = 4, ROWS_MOST = 32 };

static int boxes_of(const sett_gemm_mixed_options *o)
{
    return sett_dtype_bits(o->b) / WEIGHTS_BOX_BITS;
}

static int eights(const sett_gemm_mixed_options *o)
{
    return o->rows / EIGHT;
}

/* ---- options --------------------------------------------------------------------------------------------- */
static void choose(sett_gemm_mixed_options *o)
{
    sett_gemm_mixed_tuning *tune = &o->tuning;
    sett__either(&tune->threads, 256);
    const int wide = boxes_of(o) * (1 + o->swiglu) * eights(o); /* what a piece takes of registers, as a multiple of the least */
    sett__either(&tune->pieces, wide > 4 ? 1 : wide > 1 ? 2 : PIECES_MOST);
    const int warps = tune->threads / WARP, least = 2 * WEIGHTS_PIECE; /* of K, of a warp: whatever .rows is, so that sums have the same order */
    if (tune->split)
        return;
    for (tune->split = 1; warps % (2 * tune->split) == 0 && (!tune->k || tune->k >= 2 * tune->split * least);)
        tune->split *= 2;
}

static epilogue_options epilogue_of(const sett_gemm_mixed_options *o)
{
    return (epilogue_options){.named = &o->terms, .narrow = "sett_gemm_mixed", .scaled = o->scaled, .residual = o->residual, .swiglu = o->swiglu, .sums = SETT_F32, .c = o->c};
}

static void settle(void *options, choice *c)
{
    sett_gemm_mixed_options *o = options;
    sett_gemm_mixed_tuning *tune = &o->tuning;
    sett__check_weights(&(weights_options){o->dtype, o->b, &o->sw, &o->group, o->zeros}, c);
    o->c = o->c ? o->c : o->dtype;
    if (!sett__is_small_float(o->c) && !sett__is_f8(o->c) && !(o->c == SETT_I8 && o->terms.quantise))
        REFUSE(c, ".c is %s: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise", sett_dtype_name(o->c));
    sett__either(&o->rows, EIGHT);
    if (o->rows != EIGHT && o->rows != 2 * EIGHT && o->rows != ROWS_MOST)
        REFUSE(c, ".rows is %d: 8, 16 or 32", o->rows);
    const epilogue_options e = epilogue_of(o);
    sett__check_epilogue(&e, c);
    sett__is_zero(c, "reserved", o->reserved);
    sett__in_range(c, "k", tune->k, 0, INT_MAX);
    if (tune->threads)
        sett__whole_warps(c, tune->threads);
    if (tune->pieces != 0 && tune->pieces != 1 && tune->pieces != 2 && tune->pieces != PIECES_MOST)
        REFUSE(c, ".pieces is %d: 1, 2 or 4", tune->pieces);
    if (*c->why)
        return;
    choose(o);
    const int warps = tune->threads / WARP;
    if (tune->split < 1 || warps % tune->split)
        REFUSE(c, ".split is %d: a divisor of the %d warps of %d threads", tune->split, warps, tune->threads);
    tune->k = 0; /* the same shape is the same kernel */
}

/* ---- a warp ---------------------------------------------------------------------------------------------- */
typedef struct warp {
    const sett_gemm_mixed_options *o;
    sett_mma_atom *atom;
    sett_val *lane, *thread, *K;  /* thread: of the four warps of a block of 64 rows */
    sett_tensor *b[2], *sw[2];    /* of each half its block: (256,boxes), (64 or 128,groups) */
    sett_tensor *a[ROWS_MOST / EIGHT]; /* a lane's rows: (K) */
    sett_tensor *acc[2];
} warp;

/* A pair of each 8 of K of a piece, of all rows of A: ((2,2),rows / 8,4). */
static sett_tensor *load_rows(sett_build *b, const warp *w, sett_val *piece, bool tail)
{
    const sett_gemm_mixed_options *o = w->o;
    sett_tensor *to = sett_make_rmem_tensor(b, o->dtype, T(TWO, 2), eights(o), WEIGHTS_STEPS), *at = sett_identity_tensor(b, T1(w->K));
    for (int k = 0; k < WEIGHTS_STEPS; k++)
        for (int l = 0; l < 2; l++) {
            const sett_arg pair = SETT_A(sett_add(sett_mul(piece, WEIGHTS_PIECE / TWO), sett_add(sett_mod(w->lane, 4), (k * STEP + l * EIGHT) / TWO)));
            sett_val *in = tail ? sett_elem_less(sett_local_tile(at, T1(TWO), T1(pair)), T1(w->K)) : NULL;
            for (int i = 0; i < eights(o); i++)
                sett_store(sett_slice(to, T(ALL, l), i, k), sett_load(sett_local_tile(w->a[i], T1(TWO), T1(pair)), .pred = in));
        }
    return to;
}

static sett_val *group_at(const sett_gemm_mixed_options *o, sett_val *piece, int step)
{
    if (o->group >= WEIGHTS_PIECE)
        return sett_floordiv(piece, o->group / WEIGHTS_PIECE);
    return o->group < 0 ? NULL : sett_add(sett_mul(piece, WEIGHTS_PIECE / o->group), step * STEP / o->group);
}

/* Step k of a piece's weights of a half, of `to`, ((2,2,2),1,4). of: the scales of the step before, or none; then those of this one. */
static void open_step(sett_build *b, const warp *w, int half, sett_val *piece, int k, sett_val *const words[], weights_scale of[2], sett_tensor *to)
{
    const sett_gemm_mixed_options *o = w->o;
    if (!of->by || (o->group > 0 && o->group < WEIGHTS_PIECE && k * STEP % o->group == 0)) {
        sett_val *group = group_at(o, piece, k);
        sett__weights_scales(sett_slice(w->sw[half], ALL, group ? SETT_A(group) : sett_arg_i(0)), sett_floordiv(w->thread, 4), o->zeros, o->dtype, of);
    }
    for (int j = 0; j < WEIGHTS_REGISTERS; j++)
        sett_store(sett_slice(to, T(ALL, j % 2, j / 2), 0, k), sett__decode_weights(b, o->dtype, o->b, words + k * boxes_of(o), j, &of[j % 2]));
}

/* The products of a piece's weights of a half. */
static void multiply_piece(sett_build *b, const warp *w, int half, sett_val *piece, sett_val *const words[], sett_tensor *rows)
{
    sett_tensor *to = sett_make_rmem_tensor(b, w->o->dtype, T(TWO, 2, 2), 1, WEIGHTS_STEPS);
    weights_scale of[2] = {{NULL}};
    for (int k = 0; k < WEIGHTS_STEPS; k++)
        open_step(b, w, half, piece, k, words, of, to);
    sett_gemm(w->atom, w->acc[half], to, rows, w->acc[half]);
}

/* The same of the piece in which K ends, step by step. What is packed behind K is no weight. */
static void multiply_tail(sett_build *b, const warp *w, int half, sett_val *piece, sett_val *const words[], sett_tensor *rows)
{
    sett_tensor *to = sett_make_rmem_tensor(b, w->o->dtype, T(TWO, 2, 2), 1, WEIGHTS_STEPS);
    sett_val *left = sett_sub(w->K, sett_mul(piece, WEIGHTS_PIECE));
    for (int k = 0; k < WEIGHTS_STEPS; k++)
        sett_if (b, sett_gt(left, k * STEP)) {
            weights_scale of[2] = {{NULL}};
            open_step(b, w, half, piece, k, words, of, to);
            sett__clear_weights(to, 1, k, w->lane, left);
            sett_gemm(w->atom, w->acc[half], sett_slice(to, ALL, ALL, k), sett_slice(rows, ALL, ALL, k), w->acc[half]);
        }
}

/* Pieces first, first + apart ...: their loads begin before the first is decoded. */
static void multiply(sett_build *b, const warp *w, sett_val *first, int n, int apart, bool tail)
{
    const sett_gemm_mixed_options *o = w->o;
    sett_val *words[PIECES_MOST][2][WEIGHTS_WORDS_MOST], *at[PIECES_MOST];
    sett_tensor *rows[PIECES_MOST];
    for (int i = 0; i < n; i++) {
        at[i] = sett_add(first, i * apart);
        for (int h = 0; h <= o->swiglu; h++)
            sett__weights_words(sett_local_tile(w->b[h], T(WEIGHTS_WORDS, boxes_of(o)), T(0, at[i])), boxes_of(o), w->thread, words[i][h]);
    }
    for (int i = 0; i < n; i++)
        rows[i] = load_rows(b, w, at[i], tail);
    for (int i = 0; i < n; i++)
        for (int h = 0; h <= o->swiglu; h++)
            (tail ? multiply_tail : multiply_piece)(b, w, h, at[i], words[i][h], rows[i]);
}

/* Whole pieces of this part of K, several at once, then one by one; the last, which K cuts, is the last part's that has no other. */
static void multiply_all(sett_build *b, const warp *w, sett_val *part)
{
    const int split = w->o->tuning.split, n = w->o->tuning.pieces;
    sett_val *whole = sett_floordiv(w->K, WEIGHTS_PIECE), *mine = sett_floordiv(sett_add(sett_sub(whole, part), split - 1), split), *several = sett_mul(sett_floordiv(mine, n), n);
    sett_for (b, i, 0, several, n)
        multiply(b, w, sett_add(part, sett_mul(i, split)), n, split, false);
    sett_for (b, i, several, mine, 1)
        multiply(b, w, sett_add(part, sett_mul(i, split)), 1, split, false);
    sett_if (b, sett_and(sett_ne(sett_mod(w->K, WEIGHTS_PIECE), 0), sett_eq(sett_mod(whole, split), part)))
        multiply(b, w, whole, 1, split, true);
}

/* A lane has the sums of two rows of A and of two rows of B, which are 8 apart. */
static void leave_sums(sett_build *b, const warp *w, sett_tensor *S, sett_val *column, sett_val *part)
{
    sett_val *of_b = sett_add(column, sett_floordiv(w->lane, 4)), *of_a = sett_mul(sett_mod(w->lane, 4), TWO);
    (void)b;
    for (int h = 0; h <= w->o->swiglu; h++)
        for (int i = 0; i < eights(w->o); i++)
            for (int j = 0; j < 4; j++)
                sett_set(S, sett_at(w->acc[h], T(j % 2, j / 2), 0, i), sett_add(of_b, j / 2 * EIGHT), h, sett_add(of_a, i * EIGHT + j % 2), part);
}

/* ---- the kernel ------------------------------------------------------------------------------------------ */
/* slice: of 16 rows, among all. Those past the edges are the last one, whose sums are not stored, as those of rows of A are. */
static warp warp_of(sett_build *b, const sett_gemm_mixed_options *o, sett_tensor *A, sett_tensor *const B[2], sett_val *slice, sett_val *m, sett_val *M, sett_val *N, sett_val *K)
{
    sett_val *lane = sett_lane_idx(b), *blocks = sett_floordiv(sett_add(N, WEIGHTS_PIECE - 1), WEIGHTS_PIECE);
    warp w = {.o = o, .lane = lane, .K = K, .thread = sett_add(sett_mul(sett_mod(slice, SLICES), WARP), lane)};
    w.atom = sett_mma_sync(b, .a = o->dtype, .b = o->dtype, .acc = SETT_F32, .m = SLICE, .n = EIGHT, .k = STEP);
    for (int h = 0; h <= o->swiglu; h++) {
        sett_val *block = sett_min(sett_floordiv(slice, SLICES), sett_sub(blocks, 1));
        block = sett_to(h ? sett_add(block, blocks) : block, SETT_I64);
        w.b[h] = sett_slice(B[0], ALL, ALL, block), w.sw[h] = sett_slice(B[1], ALL, ALL, block);
        w.acc[h] = sett_make_rmem_tensor(b, SETT_F32, T(2, 2), 1, eights(o));
        sett_fill(w.acc[h], 0.0);
    }
    for (int i = 0; i < eights(o); i++)
        w.a[i] = sett_slice(A, sett_min(sett_add(m, sett_add(sett_floordiv(lane, 4), i * EIGHT)), sett_sub(M, 1)), ALL);
    return w;
}

static void run(sett_build *b, const sett_gemm_mixed_options *o, sett_tensor *A, sett_tensor *const B[2], sett_tensor *C, sett_val *M, sett_val *N, sett_val *K, terms *s)
{
    const int split = o->tuning.split, tiles = o->tuning.threads / WARP / split, halves = 1 + o->swiglu;
    sett_val *number = sett_make_warp_uniform(sett_warp_idx(b)), *part = sett_mod(number, split), *tile = sett_floordiv(number, split);
    sett_val *m = sett_mul(sett_block_idx(b, 1), o->rows), *first = sett_mul(sett_block_idx(b, 0), tiles);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(SLICE * tiles, halves, o->rows, split)), 16, .name = "sums");
    const warp w = warp_of(b, o, A, B, sett_add(first, tile), m, M, N, K);
    if (!o->no_pdl)
        sett_griddepcontrol_wait(b);
    multiply_all(b, &w, part);
    if (!o->no_pdl) /* behind the loop, as of sett_gemm_few_rows */
        sett_griddepcontrol_launch_dependents(b);
    leave_sums(b, &w, S, sett_mul(tile, SLICE), part);
    const block_sums f = {.threads = o->tuning.threads, .columns = SLICE * tiles, .rows = o->rows, .halves = halves, .parts = split, .c = o->c};
    sett__finish_sums(b, &f, S, C, m, sett_mul(first, SLICE), s);
}

void sett_gemm_mixed(sett_build *b, const void *user)
{
    sett_gemm_mixed_options o;
    if (!sett__kernel_options(b, &sett__gemm_mixed, user, &o))
        return;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *K = sett_sym(b, "K");
    const product x = {.b = b, .M = M, .N = N, .align_c = sett__bytes_of(o.c), .of = epilogue_of(&o)};
    sett_tensor *A = sett__operand(&x, "A", o.dtype, TWO * sett__bytes_of(o.dtype), M, K, SETT_K_MAJOR), *B[2];
    sett__weights_params(b, &(weights_options){o.dtype, o.b, &o.sw, &o.group, o.zeros}, o.swiglu, N, K, NULL, B);
    const outputs out = sett__outputs(&x);
    terms s = sett__terms(&x, &out, NULL);
    sett_block(b, o.tuning.threads);
    sett_grid(b, sett_ceil_div(N, SLICE * (o.tuning.threads / WARP / o.tuning.split)), sett_ceil_div(M, o.rows));
    run(b, &o, A, B, out.C, M, N, K, &s);
}

#define P(member_) SETT_FAMILY_PARAM(sett_gemm_mixed_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gemm_mixed_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(b), P(c), P(sw), P(group), P(zeros), P(rows), P(scaled), P(swiglu), P(residual), TUNED(threads), TUNED(split), TUNED(pieces), TUNED(k),
    TERM_PARAMS(sett_gemm_mixed_options)};
FAMILY_OF(gemm_mixed, params, .least = "sm_80");
