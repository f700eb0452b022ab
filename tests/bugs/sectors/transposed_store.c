/* SPDX-License-Identifier: Apache-2.0 */
/* kind: sectors
 * missing: a turn through shared memory: loads go along rows, and stores down columns
 * fix: a tile in shared memory, so that both go along rows
 * A transpose without shared memory: each store of a warp touches 32 sectors for 128 bytes. */
#include "bug.h"

enum { TILE = 32 };

static void transpose(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILE, TILE)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE, TILE));
    sett_block(b, TILE);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, TILE), T(TILE + 1, 1)), 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, row, 0, TILE, 1) {
        sett_val *x = sett_at(X, row, t);
        if (bug_twin)
            sett_set(S, x, row, t);
        else
            sett_set(Y, x, t, row); /* @1 write */
    }
    if (bug_twin) {
        sett_sync_warp(b);
        sett_for (b, row, 0, TILE, 1)
            sett_set(Y, sett_at(S, t, row), row, t);
    }
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
