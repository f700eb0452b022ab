/* SPDX-License-Identifier: Apache-2.0 */
/* A thread opens `values_per_thread` weights: one access to load them, with one scale, some to store them. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_dequantise_options *o = options;
    sett_dequantise_tuning *tune = &o->tuning;
    sett__is_float(c, o->dtype);
    if (!o->from)
        o->from = SETT_I4;
    const int bits = sett_dtype_bits(o->from);
    if ((bits != 4 && bits != 8) || o->from == SETT_F8E4M3 || o->from == SETT_F8E4M3B11FNUZ)
        REFUSE(c, ".from is %s: i4, f4E2M1FN, i8, u8, f8E4M3FN, f8E5M2 or f8E8M0FNU", sett_dtype_name(o->from));
    sett__either(&o->group, 128);
    sett__in_range(c, "group", o->group, 2, 1 << 16);
    sett__either(&tune->values_per_thread, o->group % 16 ? (bits == 4 ? 2 : 1) : 16); /* more to a thread is slower: what they store lies further apart */
    sett__in_range(c, "values_per_thread", tune->values_per_thread, 1, 64);
    if (!*c->why && o->group % tune->values_per_thread)
        REFUSE(c, ".values_per_thread is %d, and must divide the group, which is %d", tune->values_per_thread, o->group);
    if (!*c->why && tune->values_per_thread * bits % 8)
        REFUSE(c, ".values_per_thread is %d: %d weights of %s are no whole bytes", tune->values_per_thread, tune->values_per_thread, sett_dtype_name(o->from));
    if (!*c->why && o->group / tune->values_per_thread > 1024)
        REFUSE(c, ".values_per_thread is %d: a group of %d takes %d threads, and a block has at most 1024", tune->values_per_thread, o->group, o->group / tune->values_per_thread);
    const int across = *c->why ? 1 : o->group / tune->values_per_thread;
    sett__either(&tune->rows, across >= 512 ? 1 : 512 / across);
    sett__in_range(c, "rows", tune->rows, 1, 1024 / across);
}

void sett_dequantise(sett_build *b, const void *user)
{
    sett_dequantise_options o;
    if (!sett__kernel_options(b, &sett__dequantise, user, &o))
        return;
    const int across = o.group / o.tuning.values_per_thread;
    sett_val *N = sett_sym(b, "N"), *K = sett_sym(b, "K", .div = o.group);
    sett_tensor *W = sett_param(b, "W", o.from, sett_row_major(b, N, K), .align = 16);
    sett_tensor *S = sett_param(b, "S", o.dtype, sett_row_major(b, N, sett_floordiv(K, o.group)));
    sett_tensor *D = sett_param(b, "D", o.dtype, sett_row_major(b, N, K), .align = 16);
    sett_grid(b, sett_floordiv(K, o.group), sett_ceil_div(N, o.tuning.rows));
    sett_block(b, across, o.tuning.rows);
    sett__begin(b, o.no_pdl);
    sett_val *group = sett_block_idx(b, 0), *row = sett_add(sett_mul(sett_block_idx(b, 1), o.tuning.rows), sett_thread_idx(b, 1));
    sett_val *part = sett_add(sett_mul(group, across), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(row, N)) {
        sett_val *w = sett_load(sett_local_tile(W, T(1, o.tuning.values_per_thread), T(row, part)));
        sett_val *scale = sett_to(sett_at(S, row, group), SETT_F32);
        sett_store(sett_local_tile(D, T(1, o.tuning.values_per_thread), T(row, part)), sett_to(sett_mul(sett_to(w, SETT_F32), scale), o.dtype));
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_dequantise_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_dequantise_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(from), P(group), TUNED(values_per_thread), TUNED(rows)};
FAMILY(dequantise, params);
