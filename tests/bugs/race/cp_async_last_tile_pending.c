/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the last tile is computed behind the loop, and its group is the one that may be pending
 * fix: sett_cp_async_wait_group(b, 0) in front of the last tile
 * Double buffering with the last round peeled off. Inside the loop one group may be pending; behind it none is newer than the last
 * tile's, so the same wait waits for nothing. */
#include "bug.h"

enum { THREADS = 64, VALUES = 2, TILE = THREADS * VALUES, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, TILE), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, TILE), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, 2)), 16, .name = "two");
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F32, 64), sett_make_layout(b, T(THREADS)), sett_make_layout(b, T(VALUES)));
    sett_thr_copy *mine = sett_get_slice(copy, sett_thread_idx(b, 0));
    sett_copy(copy, sett_partition_S(mine, sett_slice(X, 0, ALL)), sett_partition_D(mine, sett_slice(two, ALL, 0)));
    sett_cp_async_commit_group(b);
    sett_for (b, k, 0, TILES - 1, 1) {
        sett_val *next = sett_add(k, 1);
        sett_copy(copy, sett_partition_S(mine, sett_slice(X, next, ALL)), sett_partition_D(mine, sett_slice(two, ALL, sett_mod(next, 2)))); /* @1 copy */
        sett_cp_async_commit_group(b);
        sett_cp_async_wait_group(b, 1);
        sett_copy(sett_partition_D(mine, sett_slice(two, ALL, sett_mod(k, 2))), sett_partition_S(mine, sett_slice(Y, k, ALL)));
    }
    sett_cp_async_wait_group(b, bug_twin ? 0 : 1); /* @wait */
    sett_copy(sett_partition_D(mine, sett_slice(two, ALL, (TILES - 1) % 2)), sett_partition_S(mine, sett_slice(Y, TILES - 1, ALL))); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, TILE), y = bug_out(SETT_F32, TILES, TILE);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * TILE; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
