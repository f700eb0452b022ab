/* SPDX-License-Identifier: Apache-2.0 */
/* A block takes a piece of a row, or, where the whole row's largest is asked for, the row. */
#include "rowwise.h"

static void settle(void *options, choice *c)
{
    enum { TWO = 512 };
    sett_quantise_options *o = options;
    sett__is_float(c, o->dtype);
    sett__in_range(c, "cols", o->cols, 1, 1 << 24);
    sett__is_zero(c, "reserved", o->reserved);
    if (!o->quantise)
        o->quantise = SETT_QUANTISED_ROWS;
    sett__quantised_options(c, &QUANTISED(o), &o->out);
    if (!*c->why && o->quantise != SETT_QUANTISED_ROWS && o->cols / sett__vec(o->dtype) >= TWO)
        sett__either(&o->tuning.vectors_per_thread, 2); /* one operand to read: a thread has two accesses under way */
    sett__settle_pieces(c, &QUANTISED(o), &o->tuning.threads, &o->tuning.vectors_per_thread);
}

void sett_quantise(sett_build *b, const void *user)
{
    sett_quantise_options o;
    if (!sett__kernel_options(b, &sett__quantise, user, &o))
        return;
    sett_val *M = sett_sym(b, "M"), *row;
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    const quantised to = sett__quantised(&QUANTISED(&o), b, M);
    const row_shape s = sett__begin_pieces(b, &to, M, o.tuning.threads, o.tuning.vectors_per_thread, o.no_pdl, &row);
    const row_place p = sett__row_place(&s, sett_slice(X, row, ALL));
    sett__store_row(&to, &s, &p, row, sett__row_load(&s, &p, X, NULL, NULL, row));
}

#define P(member_) SETT_FAMILY_PARAM(sett_quantise_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_quantise_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(quantise), P(out), TUNED(threads), TUNED(vectors_per_thread)};
FAMILY(quantise, params);
