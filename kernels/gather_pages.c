/* SPDX-License-Identifier: Apache-2.0 */
/* A block has a row of Y, all heads of a key, and finds its request by halving. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_gather_pages_options *o = options;
    sett__is_copied(c, o->dtype);
    sett__is_zero(c, "reserved", o->reserved);
    sett__in_range(c, "d", o->d, 1, 1 << 16);
    sett__in_range(c, "page", o->page, 1, 1024);
    if (!*c->why && o->d % sett__vec(o->dtype))
        REFUSE(c, ".d is %d: a multiple of %d, 16 bytes", o->d, sett__vec(o->dtype));
    sett__either(&o->tuning.threads, 128);
    sett__in_range(c, "threads", o->tuning.threads, 1, 1024);
}

/* The request that a row of Y belongs to: the last one whose offset is at most the number of the row. */
static sett_val *request_of(sett_build *b, sett_tensor *offsets, sett_val *requests, sett_val *row)
{
    sett_tensor *low = sett_var(b, SETT_I32, 0), *high = sett_var(b, SETT_I32, requests);
    sett_while (b, sett_gt(sett_sub(sett_at(high, 0), sett_at(low, 0)), 1)) {
        sett_val *middle = sett_shr(sett_add(sett_at(low, 0), sett_at(high, 0)), 1), *behind = sett_le(sett_at(offsets, middle), row);
        sett_set(low, sett_where(behind, middle, sett_at(low, 0)), 0);
        sett_set(high, sett_where(behind, sett_at(high, 0), middle), 0);
    }
    return sett_at(low, 0);
}

void sett_gather_pages(sett_build *b, const void *user)
{
    sett_gather_pages_options o;
    if (!sett__kernel_options(b, &sett__gather_pages, user, &o))
        return;
    const int vec = sett__vec(o.dtype), of_head = o.d / vec;
    sett_val *pool = sett_sym(b, "P"), *HK = sett_sym(b, "HK"), *B = sett_sym(b, "B"), *pages = sett_sym(b, "pages"), *N = sett_sym(b, "N");
    sett_tensor *POOL = sett_param(b, "POOL", o.dtype, sett_row_major(b, pool, HK, o.page, o.d), .align = 16);
    sett_tensor *TABLE = sett_param(b, "TABLE", SETT_I32, sett_row_major(b, B, pages));
    sett_tensor *OFFSETS = sett_param(b, "OFFSETS", SETT_I32, sett_make_layout(b, T1(sett_add(B, 1))));
    sett_tensor *Y = sett_param(b, "Y", o.dtype, sett_row_major(b, N, HK, o.d), .align = 16);
    sett_grid(b, N);
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    sett_val *row = sett_block_idx(b, 0);
    sett_if (b, sett_and(sett_ge(row, sett_at(OFFSETS, 0)), sett_lt(row, sett_at(OFFSETS, B)))) {
        sett_val *request = request_of(b, OFFSETS, B, row), *key = sett_sub(row, sett_at(OFFSETS, request));
        sett_val *page = sett_at(TABLE, request, sett_floordiv(key, o.page)), *is = sett_and(sett_ge(page, 0), sett_lt(page, pool));
        sett_for (b, i, sett_thread_idx(b, 0), sett_mul(HK, of_head), o.tuning.threads, .unroll = 2) {
            sett_val *head = sett_floordiv(i, of_head), *access = sett_mod(i, of_head);
#define AT(t_, ...) sett_local_tile(sett_slice(t_, __VA_ARGS__, ALL), T1(vec), T1(access))
            sett_store(AT(Y, row, head), sett_load(AT(POOL, page, head, sett_mod(key, o.page)), .pred = is));
#undef AT
        }
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_gather_pages_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gather_pages_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(d), P(page), TUNED(threads)};
FAMILY(gather_pages, params);
