/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier between the stores of a tile and ldmatrix of other warps
 * fix: sett_sync_threads(b) before ldmatrix
 * Two warps store half of a tile each, by plain stores, and then load all of it by ldmatrix. The barrier of the main loop's old form
 * was lost. An H200 gives old rows to the warp that is first. */
#include "bug.h"

enum { ROWS = 16, K = 8 };

static void load(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, ROWS, K)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, 2, 32, 4));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, T(ROWS, K), T(K, 1)), 16), *r = sett_make_rmem_tensor(b, SETT_F16, 4);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_val *row = sett_floordiv(t, 4), *two = sett_mod(t, 4);
    sett_copy(sett_local_tile(sett_slice(X, row, ALL), T1(2), T1(two)), sett_local_tile(sett_slice(S, row, ALL), T1(2), T1(two))); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_copy(sett_ldmatrix(b, SETT_F16, 2, false), sett_slice(S, sett_mod(lane, ROWS), ALL), r); /* @2 read */
    sett_store(sett_slice(Y, sett_warp_idx(b), lane, ALL), sett_load(r));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, ROWS, K), y = bug_out(SETT_F16, 2, 32, 4);
    bug_launch(load, &x, &y);
    for (int i = 0; i < 256; i++) { /* lane l has numbers 2 (l % 4) and the next of row l / 4, then of row 8 + l / 4 */
        const int lane = i % 128 / 4, v = i % 4;
        bug_expect(&y, i, bug_get(&x, (v / 2 * 8 + lane / 4) * K + lane % 4 * 2 + v % 2));
    }
    return bug_close();
}
