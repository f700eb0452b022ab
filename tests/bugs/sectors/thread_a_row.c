/* SPDX-License-Identifier: Apache-2.0 */
/* kind: sectors
 * missing: neighbouring threads at neighbouring addresses: each thread goes along a row of its own
 * fix: threads along the columns, and a loop over the rows
 * Column sums and row sums look alike in C. Here a thread has a row and loads element by element, so that a warp's load touches 32
 * sectors for 128 bytes. An H200's caches give some of it back, not all. */
#include "bug.h"

enum { M = 32, N = 32 };

static void scaled(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, i, 0, 32, 1) {
        sett_val *row = bug_twin ? i : t, *column = bug_twin ? t : i;
        sett_val *x = sett_at(X, row, column); /* @1 read */
        sett_set(Y, sett_mul(x, 2), row, column); /* @1 write */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, N), y = bug_out(SETT_F32, M, N);
    bug_launch(scaled, &x, &y);
    for (int i = 0; i < M * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
