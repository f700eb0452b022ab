/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of stmatrix with .trans and loads of whole rows by lanes of the same warp
 * fix: sett_sync_warp(b) between them
 * A warp turns a tile of 8 x 8 by stmatrix, then a lane loads each row, "the one whose address it gave". Of a row that is stored turned each
 * fourth lane writes two bytes, so seven of the eight are other lanes'. */
#include "bug.h"

enum { N = 8 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, 32, 2), .align = 4), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, N, N), .align = 16);
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, T(N, N), T(N, 1)), 16), *r = sett_make_rmem_tensor(b, SETT_F16, 2);
    sett_val *lane = sett_lane_idx(b);
    sett_copy(sett_slice(X, lane, ALL), r);
    sett_copy(sett_stmatrix(b, SETT_F16, 1, true), r, sett_slice(S, sett_mod(lane, N), ALL)); /* @1 write */
    if (bug_twin)
        sett_sync_warp(b);
    sett_if (b, sett_lt(lane, N))
        sett_copy(sett_slice(S, lane, ALL), sett_slice(Y, lane, ALL)); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, 32, 2), y = bug_out(SETT_F16, N, N);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < N * N; i++) { /* lane l has rows 2 (l % 4) and the next of column l / 4 */
        const int row = i / N, column = i % N;
        bug_expect(&y, i, bug_get(&x, (column * 4 + row / 2) * 2 + row % 2));
    }
    return bug_close();
}
