/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between stmatrix of a warp and loads of whole rows by another one
 * fix: sett_sync_threads(b) behind stmatrix
 * The epilogue turns registers into rows by stmatrix; then each thread stores a row to global memory, which has columns of both warps.
 * An H200 stores columns of the last tile for the warp that is late. */
#include "bug.h"

enum { ROWS = 8, N = 16 };

static void epilogue(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, 2, 32, 2)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, ROWS, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, T(ROWS, N), T(N, 1)), 16), *r = sett_make_rmem_tensor(b, SETT_F16, 2);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_copy(sett_slice(X, warp, lane, ALL), r);
    sett_copy(sett_stmatrix(b, SETT_F16, 1, false), r, sett_local_tile(sett_slice(S, sett_mod(lane, ROWS), ALL), T1(8), T1(warp))); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_val *row = sett_floordiv(t, 8), *two = sett_mod(t, 8);
    sett_copy(sett_local_tile(sett_slice(S, row, ALL), T1(2), T1(two)), sett_local_tile(sett_slice(Y, row, ALL), T1(2), T1(two))); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, 2, 32, 2), y = bug_out(SETT_F16, ROWS, N);
    bug_launch(epilogue, &x, &y);
    for (int i = 0; i < ROWS * N; i++) {
        const int row = i / N, column = i % N;
        bug_expect(&y, i, bug_get(&x, column / 8 * 64 + (row * 4 + column % 8 / 2) * 2 + column % 2));
    }
    return bug_close();
}
