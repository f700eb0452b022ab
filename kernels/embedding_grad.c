/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens repeat, so rows are added to by several blocks at once: atomics on a view of 16 bytes, which sm_90 does in one
 * instruction, and other targets element by element with the same result in each. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_embedding_grad_options *o = options;
    sett_embedding_grad_tuning *tune = &o->tuning;
    sett__is_float(c, o->dtype);
    const int vec = sett__vec(o->dtype);
    sett__in_range(c, "cols", o->cols, vec, vec * 1024);
    if (*c->why)
        return;
    if (o->cols % vec)
        REFUSE(c, ".cols is %d: a multiple of %d, 16 bytes", o->cols, vec);
    sett__either(&tune->tokens, 1);
    sett__in_range(c, "tokens", tune->tokens, 1, 1024 / ((o->cols + vec - 1) / vec));
}

void sett_embedding_grad(sett_build *b, const void *user)
{
    sett_embedding_grad_options o;
    if (!sett__kernel_options(b, &sett__embedding_grad, user, &o))
        return;
    const int vec = sett__vec(o.dtype);
    sett_val *N = sett_sym(b, "N"), *V = sett_sym(b, "V");
    sett_tensor *id = sett_param(b, "id", SETT_I32, sett_make_layout(b, T1(N)));
    sett_tensor *dY = sett_param(b, "dY", o.dtype, sett_row_major(b, N, o.cols), .align = 16);
    sett_tensor *dW = sett_param(b, "dW", o.dtype, sett_row_major(b, V, o.cols), .align = 16);
    sett_grid(b, sett_ceil_div(N, o.tuning.tokens));
    sett_block(b, o.cols / vec, o.tuning.tokens);
    sett__begin(b, o.no_pdl);
    sett_val *token = sett_add(sett_mul(sett_block_idx(b, 0), o.tuning.tokens), sett_thread_idx(b, 1)), *t = sett_thread_idx(b, 0);
    sett_arg tile = sett_tuple(b, 1, vec);
    sett_if (b, sett_lt(token, N)) {
        sett_val *row = sett_at(id, token), *g = sett_load(sett_local_tile(dY, tile, T(token, t)));
        sett_atomic_add(sett_local_tile(dW, tile, T(row, t)), g, ALL); /* nobody asks what was there: a reduction, no round trip */
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_embedding_grad_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_embedding_grad_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), TUNED(tokens)};
FAMILY(embedding_grad, params);
