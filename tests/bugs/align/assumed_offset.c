/* SPDX-License-Identifier: Apache-2.0 */
/* kind: align
 * missing: truth of the promise that an offset is a multiple of 4
 * fix: no sett_assume, so that accesses are as wide as an element
 * A row's offset comes from a table, and the kernel assumes that it is a multiple of four elements, to load 16 bytes at a time. Ragged
 * rows begin anywhere. An H200 ends the kernel with a misaligned address. */
#include "bug.h"

enum { ROWS = 3, N = 32, ALL_OF = 128 };

static void gather(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ALL_OF), .align = 16), *O = sett_param(b, "O", SETT_I32, sett_row_major(b, ROWS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, ROWS);
    sett_block(b, N / 4);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0), *at = sett_at(O, row);
    if (!bug_twin)
        at = sett_assume(at, 4); /* @use */
    sett_tensor *x = sett_local_tile(sett_domain_offset(X, at), T1(4), T1(t));
    sett_store(sett_local_tile(sett_slice(Y, row, ALL), T1(4), T1(t)), sett_load(x)); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ALL_OF), o = bug_list(SETT_I32, 0, 33, 64), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(gather, &x, &o, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, (int)bug_get(&o, i / N) + i % N));
    return bug_close();
}
