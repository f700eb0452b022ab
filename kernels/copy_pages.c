/* SPDX-License-Identifier: Apache-2.0 */
/* A block copies a piece of a page. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_copy_pages_options *o = options;
    sett_copy_pages_tuning *tune = &o->tuning;
    sett__is_copied(c, o->dtype);
    sett__is_zero(c, "reserved", o->reserved);
    sett__in_range(c, "cols", o->cols, 1, 1 << 28);
    if (*c->why)
        return;
    const int vec = sett__vec(o->dtype), accesses = o->cols / vec;
    if (o->cols % vec)
        REFUSE(c, ".cols is %d: a multiple of %d, 16 bytes", o->cols, vec);
    sett__either(&tune->threads, accesses < 256 ? sett__round_up(accesses, 32) : 256);
    sett__in_range(c, "threads", tune->threads, 1, 1024);
    sett__either(&tune->vectors_per_thread, *c->why || accesses <= tune->threads ? 1 : 4);
    sett__in_range(c, "vectors_per_thread", tune->vectors_per_thread, 1, 16);
}

void sett_copy_pages(sett_build *b, const void *user)
{
    sett_copy_pages_options o;
    if (!sett__kernel_options(b, &sett__copy_pages, user, &o))
        return;
    const int vec = sett__vec(o.dtype), piece = o.tuning.threads * vec * o.tuning.vectors_per_thread, pieces = (o.cols + piece - 1) / piece;
    sett_val *N = sett_sym(b, "N"), *pages = sett_sym(b, "P");
    sett_tensor *PAIRS = sett_param(b, "PAIRS", SETT_I32, sett_row_major(b, N, 2)), *POOL = sett_param(b, "POOL", o.dtype, sett_row_major(b, pages, o.cols), .align = 16);
    sett_grid(b, sett_mul(N, pieces));
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    sett_val *pair = sett_floordiv(sett_block_idx(b, 0), pieces), *col = sett_mod(sett_block_idx(b, 0), pieces), *page[2], *are = NULL;
    sett_layout *wide = sett__wide(b, o.tuning.threads, vec, o.tuning.vectors_per_thread);
    sett_tensor *at[2];
    for (int i = 0; i < 2; i++) {
        page[i] = sett_at(PAIRS, pair, i);
        sett_val *is = sett_and(sett_ge(page[i], 0), sett_lt(page[i], pages));
        are = are ? sett_and(are, is) : is;
        at[i] = sett__part(sett_slice(POOL, page[i], ALL), SETT_A(col), piece, wide, sett_thread_idx(b, 0));
    }
    sett_val *in = sett_elem_less(sett__part(sett_identity_tensor(b, T1(o.cols)), SETT_A(col), piece, wide, sett_thread_idx(b, 0)), T1(o.cols));
    sett_if (b, are)
        sett_store(at[1], sett_load(at[0], .pred = in), .pred = in);
}

#define P(member_) SETT_FAMILY_PARAM(sett_copy_pages_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_copy_pages_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), TUNED(threads), TUNED(vectors_per_thread)};
FAMILY(copy_pages, params);
