/* SPDX-License-Identifier: Apache-2.0 */
/* One block a row, in rounds of `vectors_per_thread` accesses a thread; then shuffles and a slot of shared memory a warp. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_row_reduce_options *o = options;
    sett_row_reduce_tuning *tune = &o->tuning;
    sett__is_float(c, o->dtype);
    sett__is_reduction(c, o->op);
    sett__is_zero(c, "reserved", o->reserved);
    sett__either(&tune->threads, 128);
    sett__whole_warps(c, tune->threads);
    sett__either(&tune->vectors_per_thread, 16 / sett__vec(o->dtype)); /* 16 elements a round */
    sett__in_range(c, "vectors_per_thread", tune->vectors_per_thread, 1, 16);
}

void sett_row_reduce(sett_build *b, const void *user)
{
    sett_row_reduce_options o;
    if (!sett__kernel_options(b, &sett__row_reduce, user, &o))
        return;
    const int vec = sett__vec(o.dtype), tile = o.tuning.threads * vec * o.tuning.vectors_per_thread;
    const double initial = sett__initial(o.op);
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, N), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(M)));
    sett_grid(b, M);
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);

    sett_layout *wide = sett__wide(b, o.tuning.threads, vec, o.tuning.vectors_per_thread);
    sett_peeled x = sett_peel(sett_slice(X, row, ALL), 16);
    sett_val *end = sett_add(x.skip, N);
    sett_tensor *acc = sett_make_rmem_tensor(b, SETT_F32, sett_make_layout(b, T1(T(vec, o.tuning.vectors_per_thread))));
    sett_fill(acc, initial);
    sett_for (b, i, 0, sett_ceil_div(end, tile), 1) {
        sett_tensor *at = sett__part(sett_identity_tensor(b, T1(end)), SETT_A(i), tile, wide, t);
        sett_val *in = sett_and(sett_elem_at_least(at, T1(x.skip)), sett_elem_less(at, T1(end)));
        sett_val *v = sett_to(sett_load(sett__part(x.tensor, SETT_A(i), tile, wide, t), .pred = in, .fill = initial), SETT_F32);
        sett_store(acc, sett_binary_at(SETT_HERE, "sett_row_reduce", o.op, SETT_A(sett_load(acc)), SETT_A(v)));
    }
    sett_val *all = sett_block_reduce(sett_reduce(sett_load(acc), o.op, initial), o.op);
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, all, row);
}

#define P(member_) SETT_FAMILY_PARAM(sett_row_reduce_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_row_reduce_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(op), TUNED(threads), TUNED(vectors_per_thread)};
FAMILY(row_reduce, params);
