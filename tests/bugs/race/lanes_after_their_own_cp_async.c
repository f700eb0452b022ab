/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of the lanes: each has waited for its own copies, and reads what another lane copied
 * fix: sett_sync_warp(b) behind sett_cp_async_wait_group
 * One warp copies a row by cp.async, 16 bytes a lane, waits, and turns it around. The wait is of the lane's own copies; "a warp runs
 * together" is no order of memory. */
#include "bug.h"

enum { N = 128 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "S");
    sett_val *lane = sett_lane_idx(b);
    sett_cp_async(sett_local_tile(X, T1(4), T1(lane)), sett_local_tile(S, T1(4), T1(lane))); /* @1 copy */
    sett_cp_async_commit_group(b);
    sett_cp_async_wait_group(b, 0); /* @wait */
    if (bug_twin)
        sett_sync_warp(b);
    sett_copy(sett_local_tile(S, T1(4), T1(sett_sub(31, lane))), sett_local_tile(Y, T1(4), T1(lane))); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, (31 - i / 4) * 4 + i % 4));
    return bug_close();
}
