/* SPDX-License-Identifier: Apache-2.0 */
/* A thread has an access of 16 bytes of all rows that it adds, which are under way together. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_moe_unpermute_options *o = options;
    sett__is_float(c, o->dtype);
    sett__in_range(c, "cols", o->cols, 1, 1 << 20);
    sett__in_range(c, "top_k", o->top_k, 1, 32);
    sett__in_range(c, "residual", o->residual, 0, 1);
    if (*c->why)
        return;
    const int vec = sett__vec(o->dtype), accesses = o->cols / vec;
    if (o->cols % vec)
        REFUSE(c, ".cols is %d: a multiple of %d, 16 bytes", o->cols, vec);
    sett__either(&o->tuning.threads, accesses < 128 ? sett__round_up(accesses, 32) : 128);
    sett__in_range(c, "threads", o->tuning.threads, 1, 1024);
}

void sett_moe_unpermute(sett_build *b, const void *user)
{
    sett_moe_unpermute_options o;
    if (!sett__kernel_options(b, &sett__moe_unpermute, user, &o))
        return;
    enum { TOGETHER = 8 };
    const int vec = sett__vec(o.dtype), piece = o.tuning.threads * vec, pieces = (o.cols + piece - 1) / piece;
    sett_val *M = sett_sym(b, "M"), *rows = sett_sym(b, "T");
    sett_tensor *P = sett_param(b, "P", o.dtype, sett_row_major(b, rows, o.cols), .align = 16);
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, M, o.top_k)), *PLACE = sett_param(b, "PLACE", SETT_I32, sett_row_major(b, M, o.top_k));
    sett_tensor *RES = o.residual ? sett_param(b, "R", o.dtype, sett_row_major(b, M, o.cols), .align = 16) : NULL;
    sett_tensor *Y = sett_param(b, "Y", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    sett_grid(b, sett_mul(M, pieces));
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    sett_val *row = sett_floordiv(sett_block_idx(b, 0), pieces);
    sett_val *access = sett_add(sett_mul(sett_mod(sett_block_idx(b, 0), pieces), o.tuning.threads), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(access, o.cols / vec)) {
#define MINE(t_, row_) sett_local_tile(sett_slice(t_, row_, ALL), T1(vec), T1(access))
        sett_val *sum = RES ? sett_to(sett_load(MINE(RES, row)), SETT_F32) : sett_full(b, SETT_F32, T1(vec), 0.0);
        for (int j = 0; j < o.top_k; j += TOGETHER) {
            sett_val *v[TOGETHER], *weight[TOGETHER], *is[TOGETHER];
            for (int i = 0; i < TOGETHER && j + i < o.top_k; i++) {
                sett_val *place = sett_at(PLACE, row, j + i);
                is[i] = sett_and(sett_ge(place, 0), sett_lt(place, rows)), weight[i] = sett_at(W, row, j + i);
                v[i] = sett_load(MINE(P, place), .pred = is[i]);
            }
            for (int i = 0; i < TOGETHER && j + i < o.top_k; i++)
                sum = sett_where(is[i], sett_fma(sett_to(v[i], SETT_F32), weight[i], sum), sum);
        }
        sett_store(MINE(Y, row), sett_to(sum, o.dtype));
#undef MINE
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_moe_unpermute_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_moe_unpermute_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(top_k), P(residual), TUNED(threads)};
FAMILY(moe_unpermute, params);
