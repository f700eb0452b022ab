/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: the barrier in the warps that have no rows
 * fix: sett_sync_threads(b) behind the branch
 * public: llama.cpp #27678, flashinfer #2996
 * Warps that have rows store them, meet, and read; the barrier stands in the branch, and the last two warps never come. An H200 hangs,
 * or goes on as those warps have ended, by the code behind the branch. */
#include "bug.h"

enum { ROWS = 2, N = 32, WARPS = 4 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, WARPS * 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, ROWS)), 16);
    sett_val *warp = sett_warp_idx(b), *lane = sett_lane_idx(b), *has = sett_lt(warp, ROWS);
    sett_if (b, has) {
        sett_set(S, sett_at(X, warp, lane), lane, warp);
        if (!bug_twin) {
            sett_sync_threads(b); /* @1 barrier */
            sett_set(Y, sett_at(S, lane, sett_sub(ROWS - 1, warp)), warp, lane);
        }
    }
    if (bug_twin) {
        sett_sync_threads(b);
        sett_if (b, has)
            sett_set(Y, sett_at(S, lane, sett_sub(ROWS - 1, warp)), warp, lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (ROWS * N)));
    return bug_close();
}
