/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | bounds
 * missing: a narrower store at the end of a row: the last vector of four reaches into the row of the next block
 * fix: store the last elements of a row by themselves
 * Rows of 30 numbers lie one behind the other, a block each, and a thread stores four. The last thread of a row stores two zeros too many,
 * which are the first of the next row. */
#include "bug.h"

enum { ROWS = 3, N = 30 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS * N + 2));
    sett_grid(b, ROWS), sett_block(b, 8);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    for (int i = 0; i < 4; i++) {
        sett_val *k = sett_add(sett_mul(t, 4), i), *at = sett_add(sett_mul(m, N), k), *in = sett_lt(k, N);
        sett_tensor *x = sett_var(b, SETT_F32, 0);
        sett_if (b, in)
            sett_set(x, sett_mul(sett_at(X, m, k), 2), 0);
        if (bug_twin)
            sett_if (b, in)
                sett_set(Y, sett_at(x, 0), at);
        else
            sett_set(Y, sett_at(x, 0), at); /* @1 write */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_full(0, SETT_F32, ROWS * N + 2);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
