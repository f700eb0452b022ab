/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: the rows' own lengths: the kernel takes all rows of a table of pointers for as long as the longest
 * fix: .pred = sett_lt(t, length of the row)
 * Rows of different lengths lie anywhere, and a table has their addresses. The tensor at an address has 64 elements whatever the row
 * has; the last row has 32 and is at the end of its memory. An H200 reads what lies behind. */
#include "bug.h"

enum { ROWS = 3, N = 64 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_U64, sett_row_major(b, ROWS)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, ROWS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS));
    sett_grid(b, ROWS);
    sett_block(b, N);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_tensor *x = sett_make_gmem_tensor(b, SETT_F32, sett_at(P, row), N, 0);
    sett_val *mine = sett_load(sett_slice(x, t), .pred = bug_twin ? sett_lt(t, sett_at(L, row)) : NULL); /* @1 read */
    sett_val *sum = sett_block_reduce(mine, SETT_ADD);
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sum, row);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x[ROWS] = {bug_in(SETT_F32, 64), bug_in(SETT_F32, 64), bug_in(SETT_F32, 32)};
    sett_buf p = bug_list(SETT_U64, (double)(uintptr_t)x[0].data, (double)(uintptr_t)x[1].data, (double)(uintptr_t)x[2].data), l = bug_list(SETT_I32, 64, 64, 32);
    sett_buf y = bug_out(SETT_F32, ROWS);
    bug_launch(sums, &p, &l, &y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < (r < 2 ? 64 : 32); i++)
            sum += bug_get(&x[r], i);
        bug_expect(&y, r, sum);
    }
    return bug_close();
}
