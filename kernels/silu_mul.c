/* SPDX-License-Identifier: Apache-2.0 */
/* A block takes a piece of a row; the two halves are one tensor of three modes, so that a piece of both is one slice. */
#include "activation.h"

static void settle(void *options, choice *c)
{
    sett_silu_mul_options *o = options;
    sett_silu_mul_tuning *tune = &o->tuning;
    sett__is_float(c, o->dtype);
    sett__in_range(c, "cols", o->cols, 1, 1 << 24);
    sett__is_zero(c, "reserved", o->reserved);
    if (*c->why)
        return;
    const int accesses = (o->cols + sett__vec(o->dtype) - 1) / sett__vec(o->dtype);
    sett__either(&tune->threads, accesses < 256 ? sett__round_up(accesses, 32) : 256);
    sett__in_range(c, "threads", tune->threads, 1, 1024);
    sett__either(&tune->vectors_per_thread, 1);
    sett__in_range(c, "vectors_per_thread", tune->vectors_per_thread, 1, 16);
}

void sett_silu_mul(sett_build *b, const void *user)
{
    sett_silu_mul_options o;
    if (!sett__kernel_options(b, &sett__silu_mul, user, &o))
        return;
    const int vec = sett__vec(o.dtype), piece = o.tuning.threads * vec * o.tuning.vectors_per_thread;
    sett_val *M = sett_sym(b, "M"), *t = sett_thread_idx(b, 0);
    const int pieces = (o.cols + piece - 1) / piece; /* of one row; neighbours follow each other */
    sett_val *col = sett_mod(sett_block_idx(b, 0), pieces), *row = sett_floordiv(sett_block_idx(b, 0), pieces);
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, 2, o.cols), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    sett_grid(b, sett_mul(M, pieces));
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);

    sett_layout *wide = sett__wide(b, o.tuning.threads, vec, o.tuning.vectors_per_thread);
    sett_tensor *of[4] = {sett_slice(X, row, 0, ALL), sett_slice(X, row, 1, ALL), sett_slice(Y, row, ALL), sett_identity_tensor(b, T1(o.cols))};
    for (int i = 0; i < 4; i++)
        of[i] = sett__part(of[i], SETT_A(col), piece, wide, t);
    sett_val *in = sett_elem_less(of[3], T1(o.cols));

    sett_val *gate = sett_to(sett_load(of[0], .pred = in), SETT_F32), *up = sett_to(sett_load(of[1], .pred = in), SETT_F32);
    sett_store(of[2], sett_to(sett_mul(sett__silu(gate), up), o.dtype), .pred = in);
}

#define P(member_) SETT_FAMILY_PARAM(sett_silu_mul_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_silu_mul_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), TUNED(threads), TUNED(vectors_per_thread)};
FAMILY(silu_mul, params);
