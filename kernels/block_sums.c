/* SPDX-License-Identifier: Apache-2.0 */
#include "block_sums.h"

/* One element of C: what its epilogue is given. */
typedef struct place {
    sett_epilogue_tile base;
    sett_arg tile;
} place;

static sett_tensor *partition(sett_site site, const sett_epilogue_tile *base, sett_tensor *whole)
{
    (void)site;
    return sett_local_tile(whole, T(1, 1), ((const place *)base)->tile);
}

/* Adds the parts of K up, and stores element (m, n) of C. */
static void finish(sett_build *b, const block_sums *f, sett_tensor *S, sett_tensor *C, sett_val *column, sett_val *row, sett_val *m, sett_val *n, terms *s)
{
    sett_val *sum[2] = {NULL, NULL};
    for (int h = 0; h < f->halves; h++)
        for (int k = 0; k < f->parts; k++) {
            sett_val *x = sett_at(S, column, h, row, k);
            sum[h] = k ? sett_add(sum[h], x) : x;
        }
    sett_val *x = f->halves == 2 ? sett_mul(sett__gate(s, sum[0]), sett__up(s, sum[1])) : sum[0];
    const place at = {.base = {.b = b, .partition = partition}, .tile = sett_tuple(b, m, n)};
    sett_tensor *to = partition(SETT_HERE, &at.base, C);
    x = sett__epilogue(&at.base, sett_reshape(x, sett_shape(to)), s);
    sett_store(to, sett__rounded(x, f->c), .pred = sett_elem_less(partition(SETT_HERE, &at.base, s->crd), s->extent));
}

void sett__finish_sums(sett_build *b, const block_sums *f, sett_tensor *S, sett_tensor *C, sett_val *m, sett_val *n, terms *s)
{
    const int all = f->columns * f->rows;
    sett_sync_threads(b);
    sett__epilogue_begin(s);
    for (int i = 0; i < all; i += f->threads) {
        sett_val *t = sett_add(sett_thread_idx(b, 0), i), *column = sett_mod(t, f->columns), *row = sett_floordiv(t, f->columns);
        if (i + f->threads <= all)
            finish(b, f, S, C, column, row, sett_add(m, row), sett_add(n, column), s);
        else
            sett_if (b, sett_lt(t, all))
                finish(b, f, S, C, column, row, sett_add(m, row), sett_add(n, column), s);
    }
    sett__epilogue_end(s);
}
