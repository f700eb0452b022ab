/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier between the stores of rows and the loads of columns of the tile
 * fix: sett_sync_threads(b) before the loads
 * A tile of 32 x 32 is turned by shared memory, a row of it a warp. Each column has an element of every warp, so a warp that is first
 * loads what seven others have yet to store. An H200 shows it when the loads of X miss. */
#include "bug.h"

enum { TILE = 32, WARPS = 8 };

static void transpose(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILE, TILE)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE, TILE));
    sett_block(b, 32 * WARPS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, TILE), T(TILE + 1, 1)), 16); /* padded: no bank conflicts */
    sett_layout *threads = sett_make_layout(b, T(WARPS, 32), T(32, 1));
    sett_val *t = sett_thread_idx(b, 0);
    sett_copy(sett_local_partition(X, threads, t), sett_local_partition(S, threads, t)); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_copy(sett_local_partition(sett_select(S, 1, 0), threads, t), sett_local_partition(Y, threads, t)); /* @2 read */
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
