/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier behind the table that the first warp loads for all
 * fix: sett_sync_threads(b) behind the table
 * public: llama.cpp #13294
 * The first warp brings a table of rows to shared memory; all warps gather by it. sett_sync_warp stands between, which is enough for
 * the first warp alone. An H200 gathers by old numbers, or faults. */
#include "bug.h"

enum { ROWS = 8, N = 32, WARPS = 4 };

static void gather(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *P = sett_param(b, "P", SETT_I32, sett_row_major(b, WARPS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, WARPS, N));
    sett_block(b, WARPS * 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, WARPS, 16, .name = "table");
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_if (b, sett_lt(t, WARPS))
        sett_set(S, sett_at(P, t), t); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    else
        sett_sync_warp(b);
    sett_val *row = sett_and(sett_at(S, warp), ROWS - 1); /* @2 read */
    sett_set(Y, sett_at(X, row, lane), warp, lane);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), p = bug_list(SETT_I32, 6, 2, 5, 1), y = bug_out(SETT_F32, WARPS, N);
    bug_launch(gather, &x, &p, &y);
    for (int i = 0; i < WARPS * N; i++)
        bug_expect(&y, i, bug_get(&x, (int)bug_get(&p, i / N) * N + i % N));
    return bug_close();
}
