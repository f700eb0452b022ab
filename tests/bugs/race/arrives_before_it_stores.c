/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of the producer's store and its arrival: it says that the row is there, and stores it then
 * fix: sett_barrier_arrive behind the store
 * A warp stores rows for three others, and arrives at their named barrier without waiting. The arrival was moved up, "to hide its
 * latency", above the store. An H200 is wrong whenever the consumers are at the barrier already. */
#include "bug.h"

enum { ROWS = 3, ALL_THREADS = 128 };

static void feed(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, 32));
    sett_block(b, ALL_THREADS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(32, ROWS)), 16);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_if (b, sett_eq(warp, ROWS)) {
        if (!bug_twin)
            sett_barrier_arrive(b, 1, ALL_THREADS); /* @arrive */
        sett_for (b, row, 0, ROWS, 1)
            sett_set(S, sett_mul(sett_at(X, row, lane), 3), lane, row); /* @1 write */
        if (bug_twin)
            sett_barrier_arrive(b, 1, ALL_THREADS);
    }
    sett_else (b) {
        sett_barrier(b, 1, ALL_THREADS);
        sett_set(Y, sett_at(S, sett_sub(31, lane), warp), warp, lane); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, 32), y = bug_out(SETT_F32, ROWS, 32);
    bug_launch(feed, &x, &y);
    for (int i = 0; i < ROWS * 32; i++)
        bug_expect(&y, i, 3 * bug_get(&x, i / 32 * 32 + 31 - i % 32));
    return bug_close();
}
