/* SPDX-License-Identifier: Apache-2.0 */
/* One block a row, the row held in registers, wherever it begins. */
#include "rowwise.h"
#include <math.h>

static void settle(void *options, choice *c)
{
    sett_softmax_options *o = options;
    sett_softmax_tuning *tune = &o->tuning;
    sett__is_float(c, o->dtype);
    sett__in_range(c, "cols", o->cols, 1, 1 << 20);
    if (*c->why)
        return;
    sett__either(&tune->threads, sett__row_threads(o->dtype, o->cols));
    sett__whole_warps(c, tune->threads);
}

void sett_softmax(sett_build *b, const void *user)
{
    sett_softmax_options o;
    if (!sett__kernel_options(b, &sett__softmax, user, &o))
        return;
    sett_val *M = sett_sym(b, "M"), *row = sett_block_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    sett_grid(b, M);
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);

    /* exp(x) = exp2(x log2 e); what is not of the row is -infinity, whose exp is 0. Large values are subtracted before they are scaled. */
    const row_shape s = sett__row_shape(b, o.dtype, o.cols, o.tuning.threads, sett_thread_idx(b, 0));
    const row_place p = sett__row_place(&s, sett_slice(X, row, ALL));
    sett_val *v = sett_to(sett__row_get(&s, &p, sett_slice(X, row, ALL), -INFINITY), SETT_F32);
    sett_val *most = sett_block_reduce(sett_reduce(v, SETT_MAX, -INFINITY), SETT_MAX);
    sett_val *num = sett_exp2_approx(sett_mul(sett_sub(v, most), 1.44269504));
    sett_val *sum = sett_block_reduce(sett_reduce(num, SETT_ADD, 0.0), SETT_ADD);
    sett__row_put(&s, &p, sett_slice(Y, row, ALL), sett_to(sett_mul(num, sett_rcp(sum)), o.dtype));
}

#define P(member_) SETT_FAMILY_PARAM(sett_softmax_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_softmax_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), TUNED(threads)};
FAMILY(softmax, params);
