/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a test of the column: rows have padding behind them, which is inside of the buffer and outside of the tensor
 * fix: the predicate sett_lt(column, N) at the load
 * Rows of 60 numbers lie 64 apart. Lanes read 64 of a row, and sum the padding up with it: no access leaves the buffer, so that no
 * tool for memory sees it. An H200 gives a right sum if the padding is 0. */
#include "bug.h"

enum { M = 4, N = 60, PITCH = 64 };

static void row_sums(sett_build *b, const void *user)
{
    (void)user;
    sett_val *L = sett_sym(b, "L");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(M, N), T(L, 1))), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M));
    sett_block(b, M * 32);
    sett_val *row = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_for (b, n, lane, bug_twin ? N : PITCH, 32)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(X, row, n)), 0); /* @1 read */
    sett_val *all = sett_warp_reduce(sett_at(sum, 0), SETT_ADD, 32);
    sett_if (b, sett_eq(lane, 0))
        sett_set(Y, all, row);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, PITCH), y = bug_out(SETT_F32, M), view = x;
    view.shape[1] = N;
    bug_launch(row_sums, &view, &y);
    for (int m = 0; m < M; m++) {
        double sum = 0;
        for (int n = 0; n < N; n++)
            sum += bug_get(&x, m * PITCH + n);
        bug_expect(&y, m, sum);
    }
    return bug_close();
}
