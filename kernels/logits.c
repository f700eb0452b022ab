/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a vocabulary over the blocks of a cluster: in registers, if it fits, so that each question that is asked of it costs one exchange. */
#include "logits.h"
#include <float.h>
#include <math.h>

enum { WARP = 32, MOST_BLOCKS = 8 /* every GPU that has clusters takes so many */, QUICK = 512 /* threads of a block, so that each has registers enough */, VALUES = 32 };

static int longest(sett_dtype t, int cols)
{
    return cols % sett__vec(t) ? cols + sett__vec(t) - 1 : cols; /* sett_peel */
}

void sett__logits_settle(sett_logits_tuning *tune, choice *c, sett_dtype t, int cols, int reserved)
{
    sett__is_float(c, t);
    sett__in_range(c, "cols", cols, 1, SETT__LOGITS_MOST);
    sett__is_zero(c, "reserved", reserved);
    if (*c->why)
        return;
    const int vec = sett__vec(t), most = c->sm && c->sm < 90 ? 1 : MOST_BLOCKS;
    sett__either(&tune->values, most == 1 && longest(t, cols) > VALUES * QUICK ? 2 * vec : VALUES); /* what is read again needs few registers */
    sett__in_range(c, "values", tune->values, vec, 128);
    if (!*c->why && tune->values % vec)
        REFUSE(c, ".values is %d: a multiple of %d, 16 bytes", tune->values, vec);
    if (*c->why)
        return;
    const int threads = (longest(t, cols) + tune->values - 1) / tune->values; /* that hold the row */
    for (int blocks = 1; !tune->blocks; blocks *= 2)
        if (blocks == most || blocks * QUICK >= threads)
            tune->blocks = blocks;
    if (tune->blocks != 1 && tune->blocks != 2 && tune->blocks != 4 && tune->blocks != 8)
        REFUSE(c, ".blocks is %d: 1, 2, 4 or 8", tune->blocks);
    else if (tune->blocks > most)
        REFUSE(c, ".blocks is %d: several blocks of a row are a cluster, which needs sm_90", tune->blocks);
    if (*c->why)
        return;
    const int own = sett__round_up((threads + tune->blocks - 1) / tune->blocks, WARP), least = tune->blocks == 1 ? QUICK : 1024;
    sett__either(&tune->threads, own > least ? least : own);
    sett__whole_warps(c, tune->threads);
}

sett__logits sett__logits_begin(sett_build *b, const sett_logits_tuning *tune, sett_tensor *X, sett_val *M, int cols, int sums, int together, int no_pdl)
{
    const sett_dtype t = sett_tensor_dtype(X);
    const int vec = sett__vec(t);
    sett__logits w = {.b = b, .tune = *tune, .vec = vec, .rest = tune->values / vec, .warps = tune->blocks * tune->threads / WARP, .sums = sums};
    const int once = w.warps * WARP * tune->values;
    w.steps = (longest(t, cols) + once - 1) / once;
    sett_grid(b, sett_mul(M, tune->blocks));
    sett_block(b, tune->threads);
    if (tune->threads <= QUICK && together > 1)
        sett_min_blocks(b, together);
    if (tune->blocks > 1)
        sett_cluster(b, tune->blocks);
    if (tune->blocks > 1)
        sett_cluster_arrive_relaxed(b); /* all of them run, before one tells another something */
    sett__begin(b, no_pdl);
    sett_val *rank = sett_mod(sett_block_idx(b, 0), tune->blocks);
    w.row = sett_floordiv(sett_block_idx(b, 0), tune->blocks), w.lane = sett_lane_idx(b);
    w.warp = sett_add(sett_mul(rank, tune->threads / WARP), sett_warp_idx(b));
    const sett_peeled x = sett_peel(sett_slice(X, w.row, ALL), 16);
    w.peeled = x.tensor, w.skip = x.skip, w.end = sett_add(x.skip, cols);
    w.at = sett_identity_tensor(b, T1(once * w.steps)); /* warps behind the row have places there, which are not in it */
    w.wide = sett__wide(b, WARP, vec, w.rest);
    w.told = sett_make_smem_tensor(b, SETT_U64, sett_make_layout(b, T(w.warps, sums, 2)), 16, .name = "told");
    w.turn = sett_var(b, SETT_I32, 0);
    return w;
}

/* A step's part, or that of one access of a thread. By its offset: tiles of a row that is shorter than one lie closer together. */
static sett_tensor *mine(const sett__logits *w, sett_tensor *t, sett_arg step, int access)
{
    const int one = WARP * w->vec;
    sett_val *first = sett_mul(sett_add(sett_mul(w->warp, w->steps), step), one * w->rest);
    sett_layout *wide = access == SETT__ALL_OF_A_STEP ? w->wide : sett_make_layout(w->b, T(WARP, w->vec), T(w->vec, 1));
    return sett_slice(sett_composition(sett_domain_offset(t, T1(access > 0 ? sett_add(first, access * one) : first)), wide), w->lane, ALL);
}

sett_tensor *sett__logits_along(const sett__logits *w, sett_tensor *t, sett_arg step, int access)
{
    return mine(w, sett_domain_offset(t, T1(sett_sub(0, w->skip))), step, access);
}

static sett_val *inside(const sett__logits *w, sett_tensor *at)
{
    return sett_and(sett_elem_at_least(at, T1(w->skip)), sett_elem_less(at, T1(w->end)));
}

sett_val *sett__logits_columns(const sett__logits *w, sett_arg step, int access, sett_val **in)
{
    sett_tensor *at = mine(w, w->at, step, access);
    if (in)
        *in = inside(w, at);
    return sett_sub(sett_coord_value(at, 0), w->skip);
}

sett_val *sett__logits_load(const sett__logits *w, sett_arg step)
{
    sett_val *in = inside(w, mine(w, w->at, step, SETT__ALL_OF_A_STEP));
    sett_val *x = sett_load(mine(w, w->peeled, step, SETT__ALL_OF_A_STEP), .pred = in, .fill = -INFINITY);
    return sett_fmin(sett_fmax(sett_to(x, SETT_F32), -INFINITY), FLT_MAX);
}

/* Each warp leaves its numbers with all blocks of the row, and then takes together what all warps left. Who is still reading has the other of two places: who
 * writes there again has met all others in between. */
void sett__logits_meet(const sett__logits *w, sett_binary_op op, int n, sett_val **of, sett_val **all, sett_val **before)
{
    sett_build *b = w->b;
    const int blocks = w->tune.blocks;
    for (int i = 0; i < n; i++)
        of[i] = sett_warp_reduce(of[i], op, WARP);
    sett_val *turn = sett_at(w->turn, 0);
    sett_set(w->turn, sett_xor(turn, 1), 0);
    sett_if (b, sett_lt(w->lane, blocks))
        for (int i = 0; i < n; i++)
            sett_set(blocks > 1 ? sett_map_dsmem(w->told, w->lane) : w->told, of[i], w->warp, i, turn);
    if (blocks > 1)
        sett_cluster_sync(b);
    else
        sett_sync_threads(b);
    for (int i = 0; i < n; i++) {
        sett_val *sum = NULL, *first = NULL;
        for (int j = 0; j < w->warps; j += WARP) {
            sett_val *at = sett_add(w->lane, j), *zero = sett_const(b, SETT_U64, 0);
            sett_val *v = sett_at(w->told, sett_min(at, w->warps - 1), i, turn);
            v = j + WARP > w->warps ? sett_where(sett_lt(at, w->warps), v, zero) : v;
            sett_val *early = sett_where(sett_lt(at, w->warp), v, zero);
            sum = sum ? sett_binary_at(SETT_HERE, "sett_sampling", op, SETT_A(sum), SETT_A(v)) : v;
            first = first ? sett_binary_at(SETT_HERE, "sett_sampling", op, SETT_A(first), SETT_A(early)) : early;
        }
        all[i] = sett_warp_reduce(sum, op, WARP);
        if (before)
            before[i] = sett_warp_reduce(first, op, WARP);
    }
}

sett_val *sett__logits_ordered(sett_val *x)
{
    sett_val *bits = sett_bitcast(x, SETT_I32);
    return sett_bitcast(sett_xor(bits, sett_or(sett_shr(bits, 31), INT32_MIN)), SETT_U32);
}

static sett_val *back(sett_val *ordered)
{
    sett_val *bits = sett_bitcast(ordered, SETT_I32);
    return sett_bitcast(sett_xor(bits, sett_or(sett_not(sett_shr(bits, 31)), INT32_MIN)), SETT_F32);
}

/* Of the element that stands at this place of a thread's part of a step. */
static sett_val *column_of(const sett__logits *w, sett_arg step, sett_val *place)
{
    sett_val *first = sett_sub(sett_mul(sett_add(sett_mul(w->warp, w->steps), step), WARP * w->vec * w->rest), w->skip);
    sett_val *access = sett_add(sett_mul(sett_floordiv(place, w->vec), WARP * w->vec), sett_mod(place, w->vec));
    return sett_add(first, sett_add(sett_mul(w->lane, w->vec), access));
}

sett__largest sett__logits_largest(const sett__logits *w, sett_val *(*of)(const void *, sett_arg step), const void *user)
{
    sett_build *b = w->b;
    sett_tensor *most = sett_var(b, SETT_F32, -INFINITY), *col = sett_var(b, SETT_I32, INT32_MAX);
    sett_for (b, step, 0, w->steps, 1, .unroll_full = w->steps == 1) {
        sett_val *v = of(user, SETT_A(step)), *m = sett_reduce(v, SETT_MAX, -INFINITY);
        sett_val *place = sett_reshape(sett_coord_value(sett_identity_tensor(b, T1(w->vec * w->rest)), 0), T1(T(w->vec, w->rest))); /* constants: columns would take registers */
        sett_val *first = column_of(w, SETT_A(step), sett_reduce(sett_where(sett_eq(v, m), place, w->vec * w->rest), SETT_MIN, w->vec * w->rest));
        sett_val *more = sett_gt(m, sett_at(most, 0));
        sett_set(col, sett_where(more, first, sett_at(col, 0)), 0);
        sett_set(most, sett_where(more, m, sett_at(most, 0)), 0);
    }
    /* The largest in the upper half; below it the column, negated, so that the first has the largest number. -0 + 0 is 0. */
    sett_val *high = sett_shl(sett_to(sett__logits_ordered(sett_add(sett_at(most, 0), 0.0)), SETT_U64), 32);
    sett_val *low = sett_to(sett_bitcast(sett_not(sett_at(col, 0)), SETT_U32), SETT_U64), *key = sett_or(high, low), *all;
    if (w->tune.blocks > 1)
        sett_cluster_wait(b);
    sett__logits_meet(w, SETT_MAX, 1, &key, &all, NULL);
    sett_val *value = back(sett_to(sett_shr(all, 32), SETT_U32));
    sett_val *at = sett_not(sett_bitcast(sett_to(all, SETT_U32), SETT_I32));
    return (sett__largest){.value = value, .col = sett_where(sett_eq(value, -INFINITY), 0, at)};
}
