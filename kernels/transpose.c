/* SPDX-License-Identifier: Apache-2.0 */
/* Through shared memory: rows are read along memory, written along memory, and the tile's row stride of one more keeps both free of
 * bank conflicts. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_transpose_options *o = options;
    sett_transpose_tuning *tune = &o->tuning;
    const int bits = sett_dtype_bits(o->dtype);
    if (bits < 8 || bits > 64)
        REFUSE(c, ".dtype is %s: a type of 1, 2, 4 or 8 bytes", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    sett__in_range(c, "batched", o->batched, 0, 1);
    sett__is_zero(c, "reserved", o->reserved);
    sett__either(&tune->tile, 64);
    sett__in_range(c, "tile", tune->tile, 1, bits > 32 ? 72 : 104); /* 48 KiB of shared memory */
    sett__either(&tune->rows, tune->tile % 4 ? 1 : 4);
    sett__in_range(c, "rows", tune->rows, 1, tune->tile);
    if (!*c->why && (tune->tile % tune->rows || tune->tile * tune->rows > 1024))
        REFUSE(c, ".rows is %d: a divisor of the tile's %d, and tile x rows at most 1024 threads", tune->rows, tune->tile);
}

static void move(sett_build *b, const sett_transpose_options *o, sett_tensor *X, sett_tensor *Y, sett_val *M, sett_val *N)
{
    sett_tensor *tile = sett_make_smem_tensor(b, o->dtype, sett_make_layout(b, T(o->tuning.tile, o->tuning.tile), T(o->tuning.tile + 1, 1)), 0);
    sett_val *x = sett_thread_idx(b, 0), *y = sett_thread_idx(b, 1);
    sett_val *n0 = sett_mul(sett_block_idx(b, 0), o->tuning.tile), *m0 = sett_mul(sett_block_idx(b, 1), o->tuning.tile);
    for (int j = 0; j < o->tuning.tile; j += o->tuning.rows) {
        sett_val *m = sett_add(sett_add(m0, y), j), *n = sett_add(n0, x);
        sett_if (b, sett_and(sett_lt(m, M), sett_lt(n, N)))
            sett_set(tile, sett_at(X, m, n), sett_add(y, j), x);
    }
    sett_sync_threads(b);
    for (int j = 0; j < o->tuning.tile; j += o->tuning.rows) {
        sett_val *n = sett_add(sett_add(n0, y), j), *m = sett_add(m0, x);
        sett_if (b, sett_and(sett_lt(m, M), sett_lt(n, N)))
            sett_set(Y, sett_at(tile, x, sett_add(y, j)), n, m);
    }
}

void sett_transpose(sett_build *b, const void *user)
{
    sett_transpose_options o;
    if (!sett__kernel_options(b, &sett__transpose, user, &o))
        return;
    sett_val *B = o.batched ? sett_sym(b, "B") : NULL, *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", o.dtype, B ? sett_row_major(b, B, M, N) : sett_row_major(b, M, N));
    sett_tensor *Y = sett_param(b, "Y", o.dtype, B ? sett_row_major(b, B, N, M) : sett_row_major(b, N, M));
    if (B)
        sett_grid(b, sett_ceil_div(N, o.tuning.tile), sett_ceil_div(M, o.tuning.tile), B);
    else
        sett_grid(b, sett_ceil_div(N, o.tuning.tile), sett_ceil_div(M, o.tuning.tile));
    sett_block(b, o.tuning.tile, o.tuning.rows);
    sett__begin(b, o.no_pdl);
    sett_val *z = sett_block_idx(b, 2);
    move(b, &o, B ? sett_slice(X, z, ALL, ALL) : X, B ? sett_slice(Y, z, ALL, ALL) : Y, M, N);
}

#define P(member_) SETT_FAMILY_PARAM(sett_transpose_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_transpose_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(batched), TUNED(tile), TUNED(rows)};
FAMILY(transpose, params);
