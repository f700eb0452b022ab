/* SPDX-License-Identifier: Apache-2.0 */
/* A warp has a row: each lane experts beside each other, so that a group of experts is a group of lanes. */
#include "activation.h"
#include "logits.h"
#include <float.h>
#include <math.h>

enum { LANES = 32 };

static void settle(void *options, choice *c)
{
    sett_moe_topk_options *o = options;
    sett__is_float(c, o->dtype);
    sett__in_range(c, "experts", o->experts, 1, 512);
    sett__in_range(c, "top_k", o->top_k, 1, o->experts < LANES ? o->experts : LANES);
    sett__in_range(c, "sigmoid", o->sigmoid, 0, 1);
    sett__in_range(c, "bias", o->bias, 0, 1);
    sett__in_range(c, "renormalise", o->renormalise, 0, 1);
    if (o->groups && (o->groups < 1 || o->groups > LANES || LANES % o->groups))
        REFUSE(c, ".groups is %d: 0, 1, 2, 4, 8, 16 or 32", o->groups);
    if (o->groups && o->experts % LANES)
        REFUSE(c, ".experts is %d: with .groups a multiple of 32", o->experts);
    sett__in_range(c, "top_groups", o->top_groups, o->groups ? 1 : 0, o->groups);
    if (!*c->why && o->groups && o->experts / o->groups * o->top_groups < o->top_k)
        REFUSE(c, ".top_k is %d: %d groups have %d experts", o->top_k, o->top_groups, o->experts / o->groups * o->top_groups);
    sett__either(&o->tuning.warps, 4);
    sett__in_range(c, "warps", o->tuning.warps, 1, LANES);
}

typedef struct work {
    const sett_moe_topk_options *o;
    sett_build *b;
    sett_val *lane, *expert; /* expert: the numbers of this lane's */
    int each;                /* experts of a lane */
} work;

/* Scores of this lane's experts; of experts that do not exist 0. */
static sett_val *scores(const work *w, sett_val *x, sett_val *exists)
{
    if (w->o->sigmoid) { /* of the size of x, so that the exponential is at most 1 */
        sett_val *t = sett__exp_below(sett_abs(x)), *down = sett_add(t, 1.0);
        return sett_where(exists, sett_div(sett_where(sett_ge(x, 0.0), sett_ones_like(t), t), down), 0.0);
    }
    sett_val *most = sett_max(sett_warp_reduce(sett_reduce(x, SETT_MAX, -INFINITY), SETT_MAX, LANES), -FLT_MAX);
    sett_val *e = sett_where(exists, sett__exp_below(sett_sub(most, x)), 0.0);
    sett_val *sum = sett_warp_reduce(sett_reduce(e, SETT_ADD, 0.0), SETT_ADD, LANES);
    return sett_where(sett_gt(sum, 0.0), sett_div(e, sum), 0.0);
}

/* How good this lane's group is: its largest, or the sum of its two largest. */
static sett_val *group_score(const work *w, sett_val *by, int width)
{
    sett_val *first = sett_element(by, 0), *second = sett_const(w->b, SETT_F32, -INFINITY);
    for (int i = 1; i < w->each; i++) {
        sett_val *x = sett_element(by, i);
        second = sett_max(second, sett_min(first, x)), first = sett_max(first, x);
    }
    for (int far = 1; far < width; far *= 2) {
        sett_val *x = sett_shuffle_sync_bfly(first, far, LANES), *y = sett_shuffle_sync_bfly(second, far, LANES);
        second = sett_max(sett_min(first, x), sett_max(second, y)), first = sett_max(first, x);
    }
    return w->o->bias && w->each * width > 1 ? sett_add(first, second) : first;
}

/* -infinity in groups that are not among the best. */
static sett_val *of_best_groups(const work *w, sett_val *by)
{
    const int width = LANES / w->o->groups;
    sett_val *own = group_score(w, by, width), *mine = sett_floordiv(w->lane, width), *better = sett_const(w->b, SETT_I32, 0);
    for (int g = 0; g < w->o->groups; g++) {
        sett_val *other = sett_shuffle_sync(own, g * width, LANES);
        sett_val *is = sett_or(sett_gt(other, own), sett_and(sett_eq(other, own), sett_gt(mine, g)));
        better = sett_add(better, sett_to(is, SETT_I32));
    }
    return sett_where(sett_lt(better, w->o->top_groups), by, -INFINITY);
}

/* A choice a round. Lane j keeps the j-th. */
static void choose(const work *w, sett_val *score, sett_val *by, sett_val *scale, sett_tensor *W, sett_tensor *ID)
{
    sett_build *b = w->b;
    sett_val *weight = sett_const(b, SETT_F32, 0.0), *id = sett_const(b, SETT_I32, 0), *sum = sett_const(b, SETT_F32, 0.0);
    for (int j = 0; j < w->o->top_k; j++) {
        sett_val *most = sett_warp_redux_sync(sett__logits_ordered(sett_reduce(by, SETT_MAX, -INFINITY)), SETT_MAX);
        sett_val *is = sett_eq(sett__logits_ordered(by), most);
        sett_val *first = sett_warp_redux_sync(sett_reduce(sett_where(is, w->expert, INT32_MAX), SETT_MIN, INT32_MAX), SETT_MIN);
        sett_val *chosen = sett_eq(w->expert, first);
        sett_val *own = sett_reduce(sett_where(chosen, score, 0.0), SETT_ADD, 0.0);
        sett_val *s = sett_shuffle_sync(own, sett_floordiv(first, w->each), LANES), *here = sett_eq(w->lane, j);
        weight = sett_where(here, s, weight), id = sett_where(here, first, id), sum = sett_add(sum, s);
        by = sett_where(chosen, -INFINITY, by);
    }
    if (w->o->renormalise)
        weight = sett_where(sett_gt(sum, 0.0), sett_div(weight, sum), weight);
    sett_if (b, sett_lt(w->lane, w->o->top_k)) {
        sett_set(W, sett_mul(weight, scale), w->lane);
        sett_set(ID, id, w->lane);
    }
}

void sett_moe_topk(sett_build *b, const void *user)
{
    sett_moe_topk_options o;
    if (!sett__kernel_options(b, &sett__moe_topk, user, &o))
        return;
    work w = {.o = &o, .b = b, .each = (o.experts + LANES - 1) / LANES};
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, o.experts), .align = 16);
    sett_tensor *BIAS = o.bias ? sett_param(b, "BIAS", SETT_F32, sett_make_layout(b, T1(o.experts)), .align = 16) : NULL;
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, M, o.top_k)), *ID = sett_param(b, "ID", SETT_I32, sett_row_major(b, M, o.top_k));
    sett_val *scale = sett_scalar(b, "scale", SETT_F32);
    sett_grid(b, sett_ceil_div(M, o.tuning.warps));
    sett_block(b, LANES * o.tuning.warps);
    sett__begin(b, o.no_pdl);
    sett_val *row = sett_add(sett_mul(sett_block_idx(b, 0), o.tuning.warps), sett_warp_idx(b));
    w.lane = sett_lane_idx(b);
    sett_if (b, sett_lt(row, M)) {
        sett_tensor *at = sett_local_tile(sett_identity_tensor(b, T1(LANES * w.each)), T1(w.each), T1(w.lane));
        sett_val *exists = sett_elem_less(at, T1(o.experts));
        w.expert = sett_coord_value(at, 0);
#define MINE(t_) sett_composition(sett_domain_offset(t_, T1(sett_mul(w.lane, w.each))), sett_make_layout(b, T1(w.each)))
        sett_val *x = sett_fmax(sett_to(sett_load(MINE(sett_slice(X, row, ALL)), .pred = exists, .fill = -INFINITY), SETT_F32), -INFINITY);
        sett_val *score = scores(&w, x, exists), *by = score;
        if (o.bias)
            by = sett_add(score, sett_load(MINE(BIAS), .pred = exists));
        by = sett_add(sett_where(exists, by, -INFINITY), 0.0); /* -0 is 0 */
        if (o.groups)
            by = of_best_groups(&w, by);
        choose(&w, score, by, scale, sett_slice(W, row, ALL), sett_slice(ID, row, ALL));
#undef MINE
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_moe_topk_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_moe_topk_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(experts), P(top_k), P(sigmoid), P(bias), P(groups), P(top_groups), P(renormalise), TUNED(warps)};
FAMILY_OF(moe_topk, params, .least = "sm_80");
