/* SPDX-License-Identifier: Apache-2.0 */
/* A block takes a piece of a row of both halves, or, where the whole row's largest is asked for, the row. */
#include "activation.h"
#include "rowwise.h"

static void settle(void *options, choice *c)
{
    sett_silu_mul_options *o = options;
    sett__is_float(c, o->dtype);
    sett__in_range(c, "cols", o->cols, 1, 1 << 24);
    if (!o->activation)
        o->activation = SETT_ACTIVATION_SILU;
    sett__in_range(c, "activation", o->activation, SETT_ACTIVATION_RELU, SETT_ACTIVATION_SILU);
    sett__quantised_options(c, &QUANTISED(o), &o->out);
    sett__settle_pieces(c, &QUANTISED(o), &o->tuning.threads, &o->tuning.vectors_per_thread);
}

static sett_val *activated(const sett_silu_mul_options *o, sett_val *gate)
{
    const sett_dtype fine = o->out == SETT_F32 ? SETT_F32 : SETT_F16; /* memory is what takes time here, and not the longer polynomial */
    switch (o->activation) {
    case SETT_ACTIVATION_RELU:
        return sett_max(gate, 0.0);
    case SETT_ACTIVATION_GELU:
        return sett__gelu(gate, fine);
    case SETT_ACTIVATION_GELU_TANH:
        return sett__gelu_tanh(gate, fine);
    default:
        return sett__silu(gate);
    }
}

void sett_silu_mul(sett_build *b, const void *user)
{
    sett_silu_mul_options o;
    if (!sett__kernel_options(b, &sett__silu_mul, user, &o))
        return;
    sett_val *M = sett_sym(b, "M"), *row;
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, 2, o.cols), .align = 16);
    const quantised to = sett__quantised(&QUANTISED(&o), b, M);
    const row_shape s = sett__begin_pieces(b, &to, M, o.tuning.threads, o.tuning.vectors_per_thread, o.no_pdl, &row);
    const row_place p = sett__row_place(&s, sett_slice(to.Y, row, ALL));
    sett_val *gate = sett_to(sett__row_beside(&s, &p, sett_slice(X, row, 0, ALL)), SETT_F32), *up = sett_to(sett__row_beside(&s, &p, sett_slice(X, row, 1, ALL)), SETT_F32);
    sett__store_row(&to, &s, &p, row, sett_mul(activated(&o, gate), up));
}

#define P(member_) SETT_FAMILY_PARAM(sett_silu_mul_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_silu_mul_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(activation), TUNED(threads), TUNED(vectors_per_thread), P(quantise), P(out)};
FAMILY(silu_mul, params);
