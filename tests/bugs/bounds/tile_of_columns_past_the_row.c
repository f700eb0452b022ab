/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a predicate of the columns: the last tile is half full, and its other half is the row below
 * fix: sett_load(..., .pred = sett_elem_less(...))
 * Rows of 48 columns in tiles of 32. Each thread takes four columns of a tile; those of the last tile that lie past the row are elements of
 * the next row, inside of the matrix and of its memory. */
#include "bug.h"

enum { ROWS = 4, N = 48, TILE = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, 2, ROWS), sett_block(b, TILE / 4);
    sett_val *t = sett_thread_idx(b, 0), *tile = sett_block_idx(b, 0), *row = sett_block_idx(b, 1);
    sett_tensor *x = sett_local_tile(sett_local_tile(X, T(1, TILE), T(row, tile)), T(1, 4), T(0, t)), *y = sett_local_tile(sett_local_tile(Y, T(1, TILE), T(row, tile)), T(1, 4), T(0, t));
    if (bug_twin)
        sett_if (b, sett_lt(sett_add(sett_mul(tile, TILE), sett_mul(t, 4)), N))
            sett_store(y, sett_mul(sett_load(x), 2));
    if (!bug_twin)
        sett_store(y, sett_mul(sett_load(x), 2)); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
