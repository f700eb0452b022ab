/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: an order of memory between the lanes: a vote exchanges a bit, and orders no accesses
 * fix: sett_sync_warp(b) before the loads
 * Lanes store their keys, vote whether all are there, and load each other's. A vote waits for the lanes, but PTX gives it no effect on
 * memory; only bar.warp.sync has one. An H200 gives right numbers as it is compiled today. */
#include "bug.h"

static void pair_up(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 32));
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 32, 16);
    sett_val *lane = sett_lane_idx(b), *x = sett_at(X, lane);
    sett_set(S, x, lane); /* @1 write */
    sett_val *there = sett_vote_all_sync(sett_le(x, 100.0));
    if (bug_twin)
        sett_sync_warp(b);
    sett_if (b, there)
        sett_set(Y, sett_add(sett_at(S, sett_xor(lane, 16)), x), lane); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 32), y = bug_out(SETT_F32, 32);
    bug_launch(pair_up, &x, &y);
    for (int i = 0; i < 32; i++)
        bug_expect(&y, i, bug_get(&x, i) + bug_get(&x, i ^ 16));
    return bug_close();
}
