/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of a round's loads and the next round's stores to the same slots by other lanes of the warp
 * fix: a second sett_sync_warp(b) at the end of the round
 * A warp turns rows around by 32 words of shared memory, row after row. sett_sync_warp stands between store and load, and not between
 * the load and the store of the next round. An H200 shows it only where lanes have parted. */
#include "bug.h"

enum { ROWS = 4 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, 32));
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 32, 16);
    sett_val *lane = sett_lane_idx(b);
    sett_for (b, row, 0, ROWS, 1) {
        sett_set(S, sett_at(X, row, lane), lane); /* @1 write */
        sett_sync_warp(b);
        sett_set(Y, sett_at(S, sett_sub(31, lane)), row, lane); /* @2 read */
        if (bug_twin)
            sett_sync_warp(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, 32), y = bug_out(SETT_F32, ROWS, 32);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < ROWS * 32; i++)
        bug_expect(&y, i, bug_get(&x, i / 32 * 32 + 31 - i % 32));
    return bug_close();
}
