/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a test of the first column, whose left neighbour is the last element of the row before
 * fix: .pred = sett_gt(column, 0)
 * Differences along rows. The left neighbour of column 0 is at -1: inside of the buffer for all rows but the first, and outside of the
 * row. An H200 gives a wrong first column. */
#include "bug.h"

enum { M = 4, N = 32 };

static void differences(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M + 1, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, M * N);
    sett_val *row = sett_warp_idx(b), *column = sett_lane_idx(b), *below = sett_add(row, 1);
    sett_val *left = sett_load(sett_slice(X, below, sett_sub(column, 1)), .pred = bug_twin ? sett_gt(column, 0) : NULL); /* @1 read */
    sett_set(Y, sett_sub(sett_at(X, below, column), left), row, column);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M + 1, N), y = bug_out(SETT_F32, M, N);
    bug_launch(differences, &x, &y);
    for (int i = 0; i < M * N; i++)
        bug_expect(&y, i, bug_get(&x, N + i) - (i % N ? bug_get(&x, N + i - 1) : 0));
    return bug_close();
}
