/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier before idle warps zero the sum for the next row, which the working warp has yet to store
 * fix: sett_sync_threads(b) behind the store of the row's sum
 * public: nvFuser #678
 * The first warp adds up a row in shared memory and writes the sum out; the others have nothing to do, and prepare the word for the
 * next row. An H200 writes zeros now and then. */
#include "bug.h"

enum { ROWS = 3, N = 32 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, ROWS));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "sum");
    sett_val *t = sett_thread_idx(b, 0), *works = sett_eq(sett_warp_idx(b), 0);
    sett_if (b, sett_eq(t, 0))
        sett_set(S, 0, 0);
    sett_for (b, row, 0, ROWS, 1) {
        sett_sync_threads(b);
        sett_if (b, works) {
            sett_atomic_add(S, sett_at(X, row, t), 0); /* @2 atomic */
            sett_sync_warp(b);
            sett_if (b, sett_eq(t, 0))
                sett_set(Y, sett_at(S, 0), row); /* @2 read */
        }
        if (bug_twin)
            sett_sync_threads(b);
        sett_if (b, sett_eq(t, 32))
            sett_set(S, 0, 0); /* @1 write */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, ROWS, N), y = bug_out(SETT_I32, ROWS);
    bug_launch(sums, &x, &y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += bug_get(&x, r * N + i);
        bug_expect(&y, r, sum);
    }
    return bug_close();
}
