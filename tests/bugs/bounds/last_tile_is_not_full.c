/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a predicate of the last tile, which reaches past the end of both vectors
 * fix: sett_if (b, sett_lt(i, N))
 * Y = 2 X, 64 elements a block; the extent is no multiple of it. Accesses past the end may leave the allocation. An H200 stores into
 * the next allocation, and says nothing. */
#include "bug.h"

enum { N = 150, TILE = 64 };

static void twice(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, n)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, n));
    sett_grid(b, sett_ceil_div(n, TILE));
    sett_block(b, TILE);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), TILE), sett_thread_idx(b, 0));
    if (bug_twin)
        sett_if (b, sett_lt(i, n))
            sett_set(Y, sett_mul(sett_at(X, i), 2), i);
    if (!bug_twin)
        sett_set(Y, sett_mul(sett_at(X, i), 2), i); /* @1 read @write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(twice, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
