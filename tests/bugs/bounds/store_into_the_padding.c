/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a predicate of the columns at the store: it writes the padding of Y's rows, which belongs to another array
 * fix: .pred = sett_lt(column, N) at the store
 * Y is a column block of a larger matrix: rows of 24 columns, 32 apart. A warp stores 32 columns of each row, and overwrites eight of
 * the matrix beside it. No access leaves the buffer. An H200 does as it is told. */
#include "bug.h"

enum { M = 4, N = 24, PITCH = 32 };

static void twice(sett_build *b, const void *user)
{
    (void)user;
    sett_val *L = sett_sym(b, "L");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, PITCH)), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(M, N), T(L, 1)));
    sett_block(b, M * 32);
    sett_val *row = sett_warp_idx(b), *column = sett_lane_idx(b);
    sett_store(sett_slice(Y, row, column), sett_mul(sett_at(X, row, column), 2), .pred = bug_twin ? sett_lt(column, N) : NULL); /* @1 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, PITCH), y = bug_full(100, SETT_F32, M, PITCH), view = y;
    view.shape[1] = N;
    bug_launch(twice, &x, &view);
    for (int i = 0; i < M * PITCH; i++)
        bug_expect(&y, i, i % PITCH < N ? 2 * bug_get(&x, i) : 100);
    return bug_close();
}
