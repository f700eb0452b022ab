/* SPDX-License-Identifier: Apache-2.0 */
/* A block copies a row of W to a row of Y. Where the bytes of a row are no multiple of 16, the two may lie at different distances from such a multiple. */
#include "rowwise.h"

static void settle(void *options, choice *c)
{
    sett_embedding_options *o = options;
    sett__is_copied(c, o->dtype);
    if (*c->why)
        return;
    const int vec = sett__vec(o->dtype), bits = sett_dtype_bits(o->dtype);
    sett__in_range(c, "cols", o->cols, 1, vec << 14);
    if (!*c->why && bits == 8 && o->cols % vec)
        REFUSE(c, ".cols is %d: of 8 bits a multiple of %d", o->cols, vec);
    if (*c->why)
        return;
    sett__either(&o->tuning.threads, sett__row_threads(o->dtype, o->cols));
    sett__whole_warps(c, o->tuning.threads);
}

void sett_embedding(sett_build *b, const void *user)
{
    sett_embedding_options o;
    if (!sett__kernel_options(b, &sett__embedding, user, &o))
        return;
    sett_val *N = sett_sym(b, "N"), *V = sett_sym(b, "V"), *row = sett_block_idx(b, 0);
    sett_tensor *id = sett_param(b, "id", SETT_I32, sett_make_layout(b, T1(N)));
    sett_tensor *W = sett_param(b, "W", o.dtype, sett_row_major(b, V, o.cols), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", o.dtype, sett_row_major(b, N, o.cols), .align = 16);
    sett_grid(b, N);
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    const row_shape shape = sett__row_shape(b, o.dtype, o.cols, o.tuning.threads, sett_thread_idx(b, 0));
    sett_tensor *y = sett_slice(Y, row, ALL);
    const row_place place = sett__row_place(&shape, y);
    sett_val *from = sett_at(id, row);
    sett_if (b, sett_and(sett_ge(from, 0), sett_lt(from, V)))
        sett__row_put(&shape, &place, y, sett__row_beside(&shape, &place, sett_slice(W, from, ALL)));
    sett_else (b)
        sett__row_put(&shape, &place, y, sett_full(b, o.dtype, T1(shape.vec * shape.rest + !shape.even), 0));
}

#define P(member_) SETT_FAMILY_PARAM(sett_embedding_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_embedding_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), TUNED(threads)};
FAMILY(embedding, params);
