/* SPDX-License-Identifier: Apache-2.0 */
/* kind: narrow
 * missing: the promise that rows are a multiple of 8 halves
 * fix: sett_sym(b, "N", .div = 8)
 * The address is aligned, and the row's length may be anything: a row begins at any half. A thread's eight halves are eight loads,
 * where 16 bytes could be one. */
#include "bug.h"

enum { M = 4, N = 64 };

static void twice(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N", .div = bug_twin ? 8 : 1); /* @alloc */
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, n), .align = 16), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, M, n), .align = 16);
    sett_grid(b, M);
    sett_block(b, N / 8);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_val *x = sett_load(sett_local_tile(sett_slice(X, row, ALL), T1(8), T1(t))); /* @1 read */
    sett_store(sett_local_tile(sett_slice(Y, row, ALL), T1(8), T1(t)), sett_add(x, x)); /* @1 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, M, N), y = bug_out(SETT_F16, M, N);
    bug_launch(twice, &x, &y);
    for (int i = 0; i < M * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
