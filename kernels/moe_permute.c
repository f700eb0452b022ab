/* SPDX-License-Identifier: Apache-2.0 */
/* A counting sort by one block, which keeps the order of equals: each warp counts a run of tokens, counts of warps and experts are added up, and each warp
 * goes over its run again. Lanes that have the same expert find each other by sett_match_any_sync. */
#include "kernels.h"

enum { LANES = 32, AHEAD = 4 /* ids of a lane that are under way at once */ };

static void settle(void *options, choice *c)
{
    sett_moe_permute_options *o = options;
    if (o->dtype)
        REFUSE(c, ".dtype is %s: it must be 0", sett_dtype_name(o->dtype));
    sett__in_range(c, "experts", o->experts, 1, 512);
    sett__in_range(c, "top_k", o->top_k, 1, 32);
    sett__either(&o->align, 1);
    sett__in_range(c, "align", o->align, 1, 1024);
    sett__either(&o->tuning.threads, 1024);
    sett__whole_warps(c, o->tuning.threads);
}

typedef struct work {
    const sett_moe_permute_options *o;
    sett_build *b;
    int warps;
    sett_val *lane, *warp, *t, *tokens, *n; /* n: ids of these */
    sett_tensor *id, *counts /* (experts, warps) */;
} work;

/* Calls `each` for each 32 ids of the warp's run: where they are, their experts, which lanes have one of ours, and which of these have the same. */
typedef void each_of(const work *, sett_val *at, sett_val *expert, sett_val *ours, sett_val *same, const void *user);
static void walk(const work *w, each_of *each, const void *user)
{
    sett_build *b = w->b;
    sett_val *run = sett_value(b, sett_mul(sett_ceil_div(sett_ceil_div(w->n, LANES), w->warps), LANES)), *from = sett_mul(w->warp, run), *to = sett_min(sett_add(from, run), w->n);
    sett_for (b, first, from, to, LANES * AHEAD) {
        sett_val *expert[AHEAD], *at[AHEAD], *ours[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            at[i] = sett_add(sett_add(first, i * LANES), w->lane);
            sett_val *in = sett_lt(at[i], to);
            expert[i] = sett_gather(w->id, sett_add(sett_floordiv(at[i], w->o->top_k), sett_mul(sett_mod(at[i], w->o->top_k), w->tokens)), .pred = in, .fill = -1);
            ours[i] = sett_and(in, sett_and(sett_ge(expert[i], 0), sett_lt(expert[i], w->o->experts)));
        }
        for (int i = 0; i < AHEAD; i++)
            sett_if (b, sett_lt(sett_add(first, i * LANES), to)) {
                sett_val *key = sett_where(ours[i], expert[i], -1);
                each(w, at[i], key, ours[i], sett_match_any_sync(key), user);
                sett_sync_warp(b);
            }
    }
}

static sett_val *before_me(const work *w, sett_val *lanes)
{
    return sett_popc(sett_and(lanes, sett_lanemask_lt(w->b)));
}

/* The first of the lanes with an expert counts them all. */
static void count(const work *w, sett_val *at, sett_val *expert, sett_val *ours, sett_val *same, const void *user)
{
    (void)at, (void)user;
    sett_build *b = w->b;
    sett_if (b, sett_and(ours, sett_eq(before_me(w, same), 0)))
        sett_set(w->counts, sett_add(sett_at(w->counts, expert, w->warp), sett_popc(same)), expert, w->warp);
}

typedef struct outputs {
    sett_tensor *token, *place;
    sett_val *rows;
} outputs;

static void put(const work *w, sett_val *at, sett_val *expert, sett_val *ours, sett_val *same, const void *user)
{
    const outputs *out = user;
    sett_build *b = w->b;
    sett_val *before = before_me(w, same), *next = sett_at(w->counts, sett_max(expert, 0), w->warp), *row = sett_add(next, before);
    sett_if (b, sett_lt(at, w->n))
        sett_set(out->place, sett_where(ours, row, -1), sett_floordiv(at, w->o->top_k), sett_mod(at, w->o->top_k));
    sett_if (b, sett_and(ours, sett_lt(row, out->rows)))
        sett_set(out->token, sett_floordiv(at, w->o->top_k), row);
    sett_sync_warp(b);
    sett_if (b, sett_and(ours, sett_eq(before, 0)))
        sett_set(w->counts, sett_add(next, sett_popc(same)), expert, w->warp);
}

/* The numbers of the threads below this one, added up. told: an element a warp. */
static sett_val *sum_before(const work *w, sett_val *x, sett_tensor *told)
{
    sett_build *b = w->b;
    sett_val *with = x;
    for (int by = 1; by < LANES; by *= 2)
        with = sett_add(with, sett_where(sett_ge(w->lane, by), sett_shuffle_sync_up(with, by, LANES), 0));
    sett_if (b, sett_eq(w->lane, LANES - 1))
        sett_set(told, with, w->warp);
    sett_sync_threads(b);
    sett_val *of_warp = sett_at(told, sett_min(w->lane, w->warps - 1)), *below = sett_where(sett_lt(w->lane, w->warp), of_warp, 0);
    return sett_add(sett_sub(with, x), sett_warp_reduce(below, SETT_ADD, LANES));
}

/* Each count becomes the first row of the warp's tokens of that expert. A thread has experts; those of all threads are at most as many rounds of them. */
static void add_up(const work *w, sett_tensor *offsets)
{
    sett_build *b = w->b;
    const int threads = w->o->tuning.threads, rounds = (w->o->experts + threads - 1) / threads;
    sett_tensor *told = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T(w->warps, rounds)), 16, .name = "told"), *all = sett_var(b, SETT_I32, 0);
    for (int round = 0; round < rounds; round++) {
        sett_val *expert = sett_add(w->t, round * threads), *is = sett_lt(expert, w->o->experts), *safe = sett_min(expert, w->o->experts - 1);
        sett_tensor *sum = sett_var(b, SETT_I32, 0);
        for (int i = 0; i < w->warps; i++)
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(w->counts, safe, i)), 0);
        sett_val *rows = sett_where(is, sett_mul(sett_floordiv(sett_add(sett_at(sum, 0), w->o->align - 1), w->o->align), w->o->align), 0);
        sett_val *first = sett_add(sum_before(w, rows, sett_slice(told, ALL, round)), sett_at(all, 0));
        sett_if (b, is) {
            sett_tensor *next = sett_var(b, SETT_I32, first);
            for (int i = 0; i < w->warps; i++) {
                sett_val *own = sett_at(w->counts, expert, i);
                sett_set(w->counts, sett_at(next, 0), expert, i);
                sett_set(next, sett_add(sett_at(next, 0), own), 0);
            }
            sett_set(offsets, first, expert);
            sett_if (b, sett_eq(expert, w->o->experts - 1))
                sett_set(offsets, sett_add(first, rows), w->o->experts);
        }
        for (int i = 0; round + 1 < rounds && i < w->warps; i++)
            sett_set(all, sett_add(sett_at(all, 0), sett_at(told, i, round)), 0);
    }
}

void sett_moe_permute(sett_build *b, const void *user)
{
    sett_moe_permute_options o;
    if (!sett__kernel_options(b, &sett__moe_permute, user, &o))
        return;
    sett_val *M = sett_sym(b, "M"), *R = sett_sym(b, "R");
    sett_tensor *ID = sett_param(b, "ID", SETT_I32, sett_row_major(b, M, o.top_k)), *OFFSETS = sett_param(b, "OFFSETS", SETT_I32, sett_make_layout(b, T1(o.experts + 1)));
    sett_tensor *TOKEN = sett_param(b, "TOKEN", SETT_I32, sett_make_layout(b, T1(R))), *PLACE = sett_param(b, "PLACE", SETT_I32, sett_row_major(b, M, o.top_k));
    sett_grid(b, 1);
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    work w = {.o = &o, .b = b, .warps = o.tuning.threads / LANES, .lane = sett_lane_idx(b), .warp = sett_warp_idx(b), .t = sett_thread_idx(b, 0), .tokens = M, .id = ID, .n = sett_mul(M, o.top_k)};
    w.counts = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T(o.experts, w.warps)), 16, .name = "counts");
    sett_for (b, i, w.t, R, o.tuning.threads)
        sett_set(TOKEN, -1, i);
    sett_for (b, i, w.t, o.experts * w.warps, o.tuning.threads)
        sett_set(w.counts, 0, i);
    sett_sync_threads(b);
    walk(&w, count, NULL);
    sett_sync_threads(b);
    add_up(&w, OFFSETS);
    sett_sync_threads(b);
    walk(&w, put, &(outputs){.token = TOKEN, .place = PLACE, .rows = R});
}

#define P(member_) SETT_FAMILY_PARAM(sett_moe_permute_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_moe_permute_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(experts), P(top_k), P(align), TUNED(threads)};
FAMILY(moe_permute, params);
