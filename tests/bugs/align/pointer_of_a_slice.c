/* SPDX-License-Identifier: Apache-2.0 */
/* kind: align
 * missing: alignment of an address in a table: the kernel promises 16 bytes, and one row begins 4 bytes behind such an address
 * fix: 0 as the tensor's alignment, so that accesses are as wide as an element
 * Rows by a table of pointers, read 16 bytes at a time. The host has put in the address of a slice, which begins at the second number
 * of a row. An H200 ends the kernel with a misaligned address. */
#include "bug.h"

enum { ROWS = 2, N = 64 };

static void copy(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_U64, sett_row_major(b, ROWS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, ROWS);
    sett_block(b, N / 4);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_tensor *x = sett_make_gmem_tensor(b, SETT_F32, sett_at(P, row), N, bug_twin ? 0 : 16); /* @alloc */
    sett_val *four = sett_load(sett_local_tile(x, T1(4), T1(t))); /* @1 read */
    sett_store(sett_local_tile(sett_slice(Y, row, ALL), T1(4), T1(t)), four);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N + 4), y = bug_out(SETT_F32, ROWS, N);
    const uintptr_t at = (uintptr_t)x.data;
    sett_buf p = bug_list(SETT_U64, (double)at, (double)(at + 4 * (N + 5)));
    bug_launch(copy, &p, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i < N ? i : i + 5));
    return bug_close();
}
