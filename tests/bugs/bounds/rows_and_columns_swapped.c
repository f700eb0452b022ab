/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: the right order of the coordinates: the kernel swaps row and column of a matrix that is not square
 * fix: sett_at(X, row, column)
 * X has 16 rows of 32. The kernel was written for square tiles, and reads (column,row): row 31 does not exist. Half of the accesses
 * are inside of the buffer, and of the wrong element. An H200 reads other memory for the rest. */
#include "bug.h"

enum { M = 16, N = 32 };

static void twice(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, N);
    sett_val *column = sett_thread_idx(b, 0);
    sett_for (b, row, 0, M, 1) {
        if (bug_twin)
            sett_set(Y, sett_mul(sett_at(X, row, column), 2), row, column);
        else
            sett_set(Y, sett_mul(sett_at(X, column, row), 2), row, column); /* @1 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, N), y = bug_out(SETT_F32, M, N);
    bug_launch(twice, &x, &y);
    for (int i = 0; i < M * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
