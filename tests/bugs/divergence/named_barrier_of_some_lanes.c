/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | barrier-count | deadlock
 * missing: the other lanes of the producer's warp: a named barrier counts whole warps
 * fix: sett_barrier_arrive(b, 1, 64) of all lanes
 * One lane of the producer arrives for its warp, as it would at an mbarrier. bar.arrive counts threads in whole warps, and is
 * .aligned. An H200 hangs, or counts the warp by chance. */
#include "bug.h"

enum { N = 32 };

static void feed(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_set(S, sett_at(X, lane), lane);
        if (bug_twin)
            sett_barrier_arrive(b, 1, 64);
        else
            sett_if (b, sett_eq(lane, 0))
                sett_barrier_arrive(b, 1, 64); /* @1 arrive */
    }
    sett_else (b) {
        sett_barrier(b, 1, 64); /* @wait */
        sett_set(Y, sett_at(S, sett_sub(N - 1, lane)), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(feed, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
