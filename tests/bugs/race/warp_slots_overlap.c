/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: room: a warp has 32 slots and writes 33, the last of which is the next warp's first
 * fix: rows of 33 slots for each warp
 * Each warp keeps its numbers and their sum in a row of shared memory, with sett_sync_warp alone, as rows are the warp's own. The rows
 * are 32 apart and a sum goes to slot 32, which is slot 0 of the next warp. An H200 spoils one number, or not, by which warp is first. */
#include "bug.h"

enum { WARPS = 4 };

static void with_sum(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, WARPS, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, WARPS, 32));
    sett_block(b, WARPS * 32);
    const int row = bug_twin ? 33 : 32;
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(33, WARPS), T(1, row)), 16); /* @alloc */
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b), *x = sett_at(X, warp, lane), *sum = sett_warp_reduce(x, SETT_ADD, 32);
    sett_set(S, x, lane, warp); /* @2 write */
    sett_sync_warp(b);
    sett_if (b, sett_eq(lane, 0))
        sett_set(S, sum, 32, warp); /* @1 write */
    sett_sync_warp(b);
    sett_set(Y, sett_add(sett_at(S, sett_sub(31, lane), warp), sett_at(S, 32, warp)), warp, lane); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, WARPS, 32), y = bug_out(SETT_F32, WARPS, 32);
    bug_launch(with_sum, &x, &y);
    for (int i = 0; i < WARPS * 32; i++) {
        double sum = 0;
        for (int k = 0; k < 32; k++)
            sum += bug_get(&x, i / 32 * 32 + k);
        bug_expect(&y, i, sum + bug_get(&x, i / 32 * 32 + 31 - i % 32));
    }
    return bug_close();
}
