/* SPDX-License-Identifier: Apache-2.0 */
/* The row is held in registers. A warp takes one, so that its two sums are shuffles alone and no warp waits for another; a block takes one that is
 * too long for that. */
#include "rowwise.h"

enum { MOST = 64, ACCESSES = 4 }; /* of a thread: elements of a row that a warp has; accesses of one that a block has, where W, B and R are held beside it */

static int block_threads(const sett_layer_norm_options *o)
{
    const int threads = sett__round_up((o->cols + ACCESSES * sett__vec(o->dtype) - 1) / (ACCESSES * sett__vec(o->dtype)), 32);
    return threads < 1024 ? threads : 1024;
}

static void settle(void *options, choice *c)
{
    sett_layer_norm_options *o = options;
    sett_layer_norm_tuning *tune = &o->tuning;
    if (!sett__norm_options(c, o->dtype, o->cols, 1 << 16, o->residual, o->reserved))
        return;
    sett__either(&tune->threads, o->cols <= 32 * MOST ? 32 : block_threads(o));
    sett__whole_warps(c, tune->threads);
    sett__either(&tune->warps, tune->threads > 32 ? 1 : 4);
    sett__in_range(c, "warps", tune->warps, 1, tune->threads > 32 ? 1 : 32);
    sett__either(&tune->rows, 1);
    sett__in_range(c, "rows", tune->rows, 1, 1 << 10);
    sett__quantised_options(c, &QUANTISED(o), &o->out);
}

enum { X, R, W, B, H, Y, PARAMS };
typedef struct work {
    const sett_layer_norm_options *o;
    sett_tensor *of[PARAMS]; /* NULL: there is none, or Y */
    sett_val *eps;
    quantised to;
    row_shape shape;
} work;

static sett_val *mean_of(const work *w, sett_val *v)
{
    return sett_mul(sett__over_row(&w->shape, sett_reduce(v, SETT_ADD, 0.0), SETT_ADD), 1.0 / w->o->cols);
}

static void norm(const work *w, sett_val *row)
{
    const row_shape *s = &w->shape;
    const row_place p = sett__row_place(s, sett_slice(w->of[X], row, ALL));
    sett_val *v = sett__row_load(s, &p, w->of[X], w->of[R], w->of[H], row);
    sett_val *weight = sett_to(sett__row_beside(s, &p, w->of[W]), SETT_F32), *bias = sett_to(sett__row_beside(s, &p, w->of[B]), SETT_F32);
    sett_val *off = sett__row_only(s, &p, sett_sub(v, mean_of(w, v))); /* what is not of the row was 0 */
    sett_val *scale = sett_rsqrt(sett_add(mean_of(w, sett_mul(off, off)), w->eps));
    sett__store_row(&w->to, s, &p, row, sett_fma(sett_mul(off, scale), weight, bias));
}

void sett_layer_norm(sett_build *b, const void *user)
{
    static const char *const names[PARAMS] = {"X", "R", "W", "B", "H"};
    sett_layer_norm_options o;
    if (!sett__kernel_options(b, &sett__layer_norm, user, &o))
        return;
    const sett_layer_norm_tuning *tune = &o.tuning;
    sett_val *M = sett_sym(b, "M");
    work w = {.o = &o};
    for (int i = 0; i < Y; i++)
        if (o.residual || (i != R && i != H))
            w.of[i] = sett_param(b, names[i], o.dtype, i == W || i == B ? sett_make_layout(b, T1(o.cols)) : sett_row_major(b, M, o.cols), .align = 16);
    w.to = sett__quantised(&QUANTISED(&o), b, M);
    w.eps = sett_scalar(b, "eps", SETT_F32);
    sett_grid(b, sett_ceil_div(M, tune->warps * tune->rows));
    sett_block(b, tune->threads * tune->warps);
    sett__begin(b, o.no_pdl);
    w.shape = sett__row_shape(b, o.dtype, o.cols, tune->threads, tune->threads > 32 ? sett_thread_idx(b, 0) : sett_lane_idx(b));
    sett_val *from = sett_mul(sett_block_idx(b, 0), tune->warps * tune->rows), *to = sett_min(M, sett_add(from, tune->warps * tune->rows));
    sett_for (b, row, tune->threads > 32 ? from : sett_add(from, sett_warp_idx(b)), to, tune->warps)
        norm(&w, row);
}

#define P(member_) SETT_FAMILY_PARAM(sett_layer_norm_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_layer_norm_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(residual), TUNED(threads), TUNED(warps), TUNED(rows), P(quantise), P(out)};
FAMILY(layer_norm, params);
