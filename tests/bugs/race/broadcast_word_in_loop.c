/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of a round's word and the store of the next round's
 * fix: sett_sync_threads(b) at the end of the round
 * public: hipfire #575
 * One thread publishes a row's scale in a word of shared memory, a barrier, and all threads use it. The thread goes on to the next row
 * and overwrites the word before the last warp has used it. An H200 scales parts of a row by the next row's number. */
#include "bug.h"

enum { ROWS = 4, N = 96 };

static void scale_rows(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *F = sett_param(b, "F", SETT_F32, sett_row_major(b, ROWS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 1, 16, .name = "scale");
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, row, 0, ROWS, 1) {
        sett_if (b, sett_eq(t, 0))
            sett_set(S, sett_mul(sett_at(F, row), 2), 0); /* @1 write */
        sett_sync_threads(b);
        sett_set(Y, sett_mul(sett_at(X, row, t), sett_at(S, 0)), row, t); /* @2 read */
        if (bug_twin)
            sett_sync_threads(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), f = bug_in(SETT_F32, ROWS), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(scale_rows, &x, &f, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, 2 * bug_get(&f, i / N) * bug_get(&x, i));
    return bug_close();
}
