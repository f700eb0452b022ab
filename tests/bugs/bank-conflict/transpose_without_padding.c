/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: a layout in which a column's elements lie in different banks
 * fix: rows of 33 words: sett_make_layout(b, T(TILE, TILE), T(TILE + 1, 1))
 * A tile of 32 x 32 words is written by rows and read by columns. Rows of 128 bytes put a column into one bank: 32 wavefronts for each
 * load. On an H200 the kernel takes several times as long. */
#include "bug.h"

enum { TILE = 32 };

static void transpose(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILE, TILE)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE, TILE));
    sett_block(b, TILE, 8);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, TILE), T(bug_twin ? TILE + 1 : TILE, 1)), 16); /* @alloc */
    sett_val *x = sett_thread_idx(b, 0), *y = sett_thread_idx(b, 1);
    sett_for (b, row, y, TILE, 8)
        sett_set(S, sett_at(X, row, x), row, x);
    sett_sync_threads(b);
    sett_for (b, row, y, TILE, 8)
        sett_set(Y, sett_at(S, x, row), row, x); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILE, TILE), y = bug_out(SETT_F32, TILE, TILE);
    bug_launch(transpose, &x, &y);
    for (int i = 0; i < TILE * TILE; i++)
        bug_expect(&y, i, bug_get(&x, i % TILE * TILE + i / TILE));
    return bug_close();
}
