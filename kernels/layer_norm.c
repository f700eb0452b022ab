/* SPDX-License-Identifier: Apache-2.0 */
/* The row is held in registers. A warp takes one, so that its two sums are shuffles alone and no warp waits for another; a block takes one that is
 * too long for that. */
#include "kernels.h"

enum { MOST = 64 }; /* elements that a thread holds */

static void settle(void *options, choice *c)
{
    sett_layer_norm_options *o = options;
    sett_layer_norm_tuning *tune = &o->tuning;
    if (!sett__norm_options(c, o->dtype, o->cols, 1 << 16, o->residual, o->reserved))
        return;
    sett__either(&tune->threads, o->cols <= 32 * MOST ? 32 : sett__row_threads(o->dtype, o->cols));
    sett__whole_warps(c, tune->threads);
    sett__either(&tune->warps, tune->threads > 32 ? 1 : 4);
    sett__in_range(c, "warps", tune->warps, 1, tune->threads > 32 ? 1 : 32);
    sett__either(&tune->rows, 1);
    sett__in_range(c, "rows", tune->rows, 1, 1 << 10);
}

static sett_val *row_sum(const sett_layer_norm_options *o, sett_val *v)
{
    v = sett_reduce(v, SETT_ADD, 0.0);
    return o->tuning.threads > 32 ? sett_block_reduce(v, SETT_ADD) : sett_warp_reduce(v, SETT_ADD, 32);
}

enum { X, R, W, B, H, Y, PARAMS };

void sett_layer_norm(sett_build *b, const void *user)
{
    static const char *const names[PARAMS] = {"X", "R", "W", "B", "H", "Y"};
    sett_layer_norm_options o;
    if (!sett__kernel_options(b, &sett__layer_norm, user, &o))
        return;
    const int vec = sett__vec(o.dtype), block = o.tuning.threads * vec, rest = (o.cols + block - 1) / block, all = block * rest;
    sett_val *M = sett_sym(b, "M"), *lane = o.tuning.threads > 32 ? sett_thread_idx(b, 0) : sett_lane_idx(b);
    sett_tensor *t[PARAMS] = {0};
    for (int i = 0; i < PARAMS; i++)
        if (o.residual || (i != R && i != H))
            t[i] = sett_param(b, names[i], o.dtype, i == W || i == B ? sett_make_layout(b, T1(o.cols)) : sett_row_major(b, M, o.cols), .align = 16);
    sett_val *eps = sett_scalar(b, "eps", SETT_F32);
    sett_grid(b, sett_ceil_div(M, o.tuning.warps * o.tuning.rows));
    sett_block(b, o.tuning.threads * o.tuning.warps);
    sett__begin(b, o.no_pdl);

    sett_layout *wide = sett__wide(b, o.tuning.threads, vec, rest);
#define MINE(t_) sett__part(t_, SETT_A(0), all, wide, lane)
#define ROW(t_) MINE(sett_slice(t_, row, ALL))
    sett_val *in = sett_elem_less(MINE(sett_identity_tensor(b, T1(o.cols))), T1(o.cols));
    sett_val *from = sett_mul(sett_block_idx(b, 0), o.tuning.warps * o.tuning.rows), *to = sett_min(M, sett_add(from, o.tuning.warps * o.tuning.rows));
    sett_val *w = sett_load(MINE(t[W]), .pred = in), *bias = sett_load(MINE(t[B]), .pred = in);
    sett_for (b, row, o.tuning.threads > 32 ? from : sett_add(from, sett_warp_idx(b)), to, o.tuning.warps) {
        sett_val *v = sett_to(sett_load(ROW(t[X]), .pred = in), SETT_F32);
        if (o.residual) {
            sett_val *h = sett_to(sett_add(v, sett_to(sett_load(ROW(t[R]), .pred = in), SETT_F32)), o.dtype);
            sett_store(ROW(t[H]), h, .pred = in);
            v = sett_to(h, SETT_F32);
        }
        sett_val *off = sett_sub(v, sett_mul(row_sum(&o, v), 1.0 / o.cols));
        if (o.cols < all) /* what is not of the row is 0, and would not stay so */
            off = sett_where(in, off, 0.0);
        sett_val *scale = sett_rsqrt(sett_fma(row_sum(&o, sett_mul(off, off)), 1.0 / o.cols, eps));
        v = sett_fma(sett_mul(off, scale), sett_to(w, SETT_F32), sett_to(bias, SETT_F32));
        sett_store(ROW(t[Y]), sett_to(v, o.dtype), .pred = in);
    }
#undef ROW
#undef MINE
}

#define P(member_) SETT_FAMILY_PARAM(sett_layer_norm_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_layer_norm_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(residual), TUNED(threads), TUNED(warps), TUNED(rows)};
FAMILY(layer_norm, params);
