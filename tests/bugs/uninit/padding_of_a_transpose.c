/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a store to column 32 of the tile, which is padding
 * fix: columns 0 to 31: sett_sub(31, row)
 * A tile has rows of 33 words, so that columns have no bank conflicts. The thread that turns a column around begins at the last word
 * of the row, which is padding that nobody stores. An H200 gives old contents in one row of each tile. */
#include "bug.h"

enum { TILE = 32 };

static void flip(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILE, TILE)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE, TILE));
    sett_block(b, TILE);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, TILE + 1), T(TILE + 1, 1)), 16); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, row, 0, TILE, 1)
        sett_set(S, sett_at(X, row, t), row, t);
    sett_sync_threads(b);
    sett_for (b, row, 0, TILE, 1)
        sett_set(Y, sett_at(S, t, sett_sub(bug_twin ? TILE - 1 : TILE, row)), row, t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILE, TILE), y = bug_out(SETT_F32, TILE, TILE);
    bug_launch(flip, &x, &y);
    for (int i = 0; i < TILE * TILE; i++)
        bug_expect(&y, i, bug_get(&x, i % TILE * TILE + TILE - 1 - i / TILE));
    return bug_close();
}
