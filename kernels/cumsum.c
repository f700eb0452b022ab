/* SPDX-License-Identifier: Apache-2.0 */
/* A block has a run of a row's tiles, and each thread 16 bytes of a tile: sums of a thread, of the lanes before it, of the warps before these, of the tiles before. With
 * several blocks a row each tells the sum of its run first, and adds up those of the runs before it: always all of them, in one order. */
#include "kernels.h"

enum { LANES = 32 };

static void settle(void *options, choice *c)
{
    sett_cumsum_options *o = options;
    sett_cumsum_tuning *tune = &o->tuning;
    if (o->dtype != SETT_I32 && !sett__is_small_float(o->dtype))
        REFUSE(c, ".dtype is %s: f16, bf16, f32 or i32", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    sett__in_range(c, "exclusive", o->exclusive, 0, 1);
    sett__in_range(c, "split", o->split, 0, 1);
    sett__either(&tune->threads, 512);
    sett__whole_warps(c, tune->threads);
    if (!o->split && tune->blocks > 1)
        REFUSE(c, ".blocks is %d: without .split 1", tune->blocks);
    sett__either(&tune->blocks, o->split ? 64 : 1);
    sett__in_range(c, "blocks", tune->blocks, 1, 1024);
    if (!*c->why && tune->blocks > tune->threads)
        REFUSE(c, ".blocks is %d: at most the %d threads", tune->blocks, tune->threads);
}

typedef struct work {
    const sett_cumsum_options *o;
    sett_build *b;
    sett_dtype sums;
    int tile;
    sett_val *row, *block, *t, *lane, *warp;
    sett_peeled x, y;
    sett_arg end;
    sett_layout *wide;
} work;

static sett_tensor *mine(const work *w, sett_tensor *t, sett_arg tile)
{
    return sett__part(t, tile, w->tile, w->wide, w->t);
}

/* Which elements of a tile are of the row; and these, 0 beside it. */
static sett_val *load(const work *w, sett_arg tile, sett_val **in)
{
    sett_tensor *at = mine(w, sett_identity_tensor(w->b, T1(w->end)), tile);
    *in = sett_and(sett_elem_at_least(at, T1(w->x.skip)), sett_elem_less(at, T1(w->end)));
    return sett_to(sett_load(mine(w, w->x.tensor, tile), .pred = *in), w->sums);
}

/* What the blocks before this one have. part: a word a block, its sum and that it is there, which goes and comes as one. */
static sett_val *sum_of_runs(const work *w, sett_val *from, sett_val *to, sett_tensor *part, sett_tensor *done)
{
    sett_build *b = w->b;
    const int blocks = w->o->tuning.blocks;
    sett_tensor *sum = sett_var(b, w->sums, 0), *came = sett_var(b, SETT_U64, 0);
    sett_val *in, *first = sett_mul(w->row, blocks);
    sett_for (b, i, from, to, 1, .unroll = 2)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_reduce(load(w, SETT_A(i), &in), SETT_ADD, 0)), 0);
    sett_val *own = sett_block_reduce(sett_at(sum, 0), SETT_ADD);
    sett_if (b, sett_eq(w->t, 0)) {
        sett_val *word = sett_or(sett_to(sett_bitcast(own, SETT_U32), SETT_U64), sett_const(b, SETT_U64, 1ll << 32));
        sett_atomic_ordered(part, SETT_ATOMIC_EXCH, SETT_SEM_RELAXED, SETT_SCOPE_GPU, word, sett_add(first, w->block));
    }
    sett_if (b, sett_lt(w->t, w->block))
        sett_while (b, sett_eq(sett_at(came, 0), 0))
            sett_set(came, sett_atomic_ordered(part, SETT_ATOMIC_OR, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 0, sett_add(first, w->t)), 0);
    sett_val *before = sett_block_reduce(sett_bitcast(sett_to(sett_at(came, 0), SETT_U32), w->sums), SETT_ADD);
    sett_if (b, sett_eq(w->t, 0)) /* who is last has nobody behind who reads: the words are 0 for the next launch */
        sett_if (b, sett_eq(sett_atomic_ordered(done, SETT_ATOMIC_ADD, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, w->row), blocks - 1)) {
            sett_for (b, i, 0, blocks, 1)
                sett_atomic_ordered(part, SETT_ATOMIC_EXCH, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 0, sett_add(first, i));
            sett_atomic_ordered(done, SETT_ATOMIC_EXCH, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 0, w->row);
        }
    return before;
}

/* Of a number of each thread: what the threads before have, and what all have. */
static void scan(const work *w, sett_val *x, sett_tensor *told, sett_val *turn, sett_val **before, sett_val **all)
{
    sett_build *b = w->b;
    const int warps = w->o->tuning.threads / LANES;
    sett_val *with = x, *zero = sett_const(b, w->sums, 0);
    for (int by = 1; by < LANES; by *= 2)
        with = sett_add(with, sett_where(sett_ge(w->lane, by), sett_shuffle_sync_up(with, by, LANES), zero));
    sett_if (b, sett_eq(w->lane, LANES - 1))
        sett_set(told, with, w->warp, turn);
    sett_sync_threads(b);
    sett_val *of_warp = sett_where(sett_lt(w->lane, warps), sett_at(told, sett_min(w->lane, warps - 1), turn), zero);
    sett_val *lanes = sett_shuffle_sync_up(with, 1, LANES);
    *before = sett_add(sett_warp_reduce(sett_where(sett_lt(w->lane, w->warp), of_warp, zero), SETT_ADD, LANES), sett_where(sett_eq(w->lane, 0), zero, lanes));
    *all = sett_warp_reduce(of_warp, SETT_ADD, LANES);
}

static void write_sums(const work *w, sett_val *from, sett_val *to, sett_val *before_all)
{
    sett_build *b = w->b;
    const int vec = sett__vec(w->o->dtype);
    sett_tensor *told = sett_make_smem_tensor(b, w->sums, sett_make_layout(b, T(w->o->tuning.threads / LANES, 2)), 16, .name = "told"), *carry = sett_var(b, w->sums, before_all);
    sett_tensor *sum = sett_make_rmem_tensor(b, w->sums, T1(vec));
    sett_for (b, i, from, to, 1) {
        sett_val *in, *x = sett_reshape(load(w, SETT_A(i), &in), T1(vec)), *own = sett_const(b, w->sums, 0), *before, *all;
        for (int e = 0; e < vec; e++) {
            sett_val *next = sett_add(own, sett_element(x, e));
            sett_set(sum, w->o->exclusive ? own : next, e);
            own = next;
        }
        scan(w, own, told, sett_and(i, 1), &before, &all);
        sett_val *y = sett_add(sett_load(sum), sett_add(sett_at(carry, 0), before));
        sett_store(mine(w, w->y.tensor, SETT_A(i)), sett_to(y, w->o->dtype), .pred = in);
        sett_set(carry, sett_add(sett_at(carry, 0), all), 0);
    }
}

void sett_cumsum(sett_build *b, const void *user)
{
    sett_cumsum_options o;
    if (!sett__kernel_options(b, &sett__cumsum, user, &o))
        return;
    const int vec = sett__vec(o.dtype), blocks = o.tuning.blocks;
    work w = {.o = &o, .b = b, .sums = o.dtype == SETT_I32 ? SETT_I32 : SETT_F32, .tile = vec * o.tuning.threads};
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, N), .align = 16), *Y = sett_param(b, "Y", o.dtype, sett_row_major(b, M, N), .align = 16);
    sett_tensor *part = o.split ? sett_param(b, "part", SETT_U64, sett_make_layout(b, T1(sett_mul(M, blocks)))) : NULL;
    sett_tensor *done = o.split ? sett_param(b, "done", SETT_U32, sett_make_layout(b, T1(M))) : NULL;
    sett_grid(b, sett_mul(M, blocks));
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    w.row = sett_floordiv(sett_block_idx(b, 0), blocks), w.block = sett_mod(sett_block_idx(b, 0), blocks);
    w.t = sett_thread_idx(b, 0), w.lane = sett_lane_idx(b), w.warp = sett_warp_idx(b);
    w.x = sett_peel(sett_slice(X, w.row, ALL), 16), w.y = sett_peel(sett_slice(Y, w.row, ALL), 16);
    w.end = SETT_A(sett_add(w.x.skip, N)), w.wide = sett__wide(b, o.tuning.threads, vec, 1);
    sett_val *tiles = sett_value(b, sett_ceil_div(w.end, w.tile)), *run = sett_value(b, sett_ceil_div(tiles, blocks));
    sett_val *from = sett_min(sett_mul(w.block, run), tiles), *to = sett_min(sett_add(from, run), tiles);
    write_sums(&w, from, to, o.split ? sum_of_runs(&w, from, to, part, done) : sett_const(b, w.sums, 0));
}

#define P(member_) SETT_FAMILY_PARAM(sett_cumsum_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_cumsum_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(exclusive), P(split), TUNED(threads), TUNED(blocks)};
FAMILY(cumsum, params);
