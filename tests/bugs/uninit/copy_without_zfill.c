/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros where the predicate of an asynchronous copy is false
 * fix: .zfill = true
 * A tile is copied by cp.async with a predicate for the columns past the end; the elements that it leaves out keep what shared memory
 * had, and are summed up with the others. An H200 adds old contents, often zeros. */
#include "bug.h"

enum { ROWS = 4, COLUMNS = 24, TILE = 32 };

static void row_sums(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS));
    sett_block(b, ROWS * 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(ROWS, TILE), T(TILE, 1)), 16); /* @alloc */
    sett_val *lane = sett_lane_idx(b), *row = sett_warp_idx(b);
    sett_cp_async(sett_local_tile(sett_slice(X, row, ALL), T1(1), T1(lane)), sett_local_tile(sett_slice(S, row, ALL), T1(1), T1(lane)), .pred = sett_lt(lane, N), .zfill = bug_twin); /* @copy */
    sett_cp_async_wait_all(b);
    sett_sync_threads(b);
    sett_val *sum = sett_warp_reduce(sett_at(S, row, sett_sub(TILE - 1, lane)), SETT_ADD, 32); /* @1 read */
    sett_if (b, sett_eq(lane, 0))
        sett_set(Y, sum, row); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, COLUMNS), y = bug_out(SETT_F32, ROWS);
    bug_launch(row_sums, &x, &y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < COLUMNS; i++)
            sum += bug_get(&x, r * COLUMNS + i);
        bug_expect(&y, r, sum);
    }
    return bug_close();
}
