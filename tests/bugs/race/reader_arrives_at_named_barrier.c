/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the reader's wait at the named barrier: it arrives, as the writer does, and goes on
 * fix: sett_barrier(b, 1, 64) in the warp that reads
 * A warp hands a row to another one. Both sides call sett_barrier_arrive, which counts and does not wait; the barrier adds up, and says
 * nothing to anybody. */
#include "bug.h"

enum { N = 32 };

static void hand_over(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 2 * N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "S");
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_set(S, sett_at(X, lane), lane); /* @1 write */
        sett_barrier_arrive(b, 1, 2 * N);
    }
    sett_else (b) {
        if (bug_twin)
            sett_barrier(b, 1, 2 * N);
        else
            sett_barrier_arrive(b, 1, 2 * N); /* @barrier */
        sett_set(Y, sett_at(S, sett_sub(N - 1, lane)), lane); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(hand_over, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
