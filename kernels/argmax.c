/* SPDX-License-Identifier: Apache-2.0 */
/* logits.c has it all. */
#include "logits.h"

static void settle(void *options, choice *c)
{
    sett_argmax_options *o = options;
    sett__logits_settle(&o->tuning, c, o->dtype, o->cols, 0);
}

static sett_val *logits(const void *row, sett_arg step)
{
    return sett__logits_load(row, step);
}

void sett_argmax(sett_build *b, const void *user)
{
    sett_argmax_options o;
    if (!sett__kernel_options(b, &sett__argmax, user, &o))
        return;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    sett_tensor *token = sett_param(b, "token", SETT_I32, sett_make_layout(b, T1(M)));
    const sett__logits w = sett__logits_begin(b, &o.tuning, X, M, o.cols, 1, 3, o.no_pdl);
    const sett__largest most = sett__logits_largest(&w, logits, &w);
    sett_if (b, sett_and(sett_eq(w.warp, 0), sett_eq(w.lane, 0)))
        sett_set(token, most.col, w.row);
}

#define P(member_) SETT_FAMILY_PARAM(sett_argmax_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_argmax_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), TUNED(threads), TUNED(blocks), TUNED(values)};
FAMILY(argmax, params);
