/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: rounds that send nothing make no group, so the count of pending groups no longer names tile k
 * fix: sett_cp_async_commit_group in every round, outside of the branch
 * The commit stands inside the branch that asks whether a tile is left. In the last rounds no group is made, wait_group(STAGES - 2) is
 * content with the groups that are there, and the last tiles are read while their copies are under way. The classic tail of a cp.async
 * ring; an H200 shows it only where the last copies miss L2. */
#include "bug.h"

enum { THREADS = 64, TILE = 4 * THREADS, TILES = 7, STAGES = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, TILE), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, TILE), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, STAGES)), 16, .name = "ring");
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, k, 0, STAGES - 1 + TILES, 1) {
        sett_if (b, sett_lt(k, TILES)) {
            sett_cp_async(sett_local_tile(sett_slice(X, k, ALL), T1(4), T1(t)), sett_local_tile(sett_slice(ring, ALL, sett_mod(k, STAGES)), T1(4), T1(t))); /* @1 copy */
            if (!bug_twin)
                sett_cp_async_commit_group(b);
        }
        if (bug_twin)
            sett_cp_async_commit_group(b);
        sett_if (b, sett_ge(k, STAGES - 1)) {
            sett_val *mine = sett_sub(k, STAGES - 1);
            sett_cp_async_wait_group(b, STAGES - 1); /* @wait */
            sett_copy(sett_local_tile(sett_slice(ring, ALL, sett_mod(mine, STAGES)), T1(4), T1(t)), sett_local_tile(sett_slice(Y, mine, ALL), T1(4), T1(t))); /* @2 read */
        }
    }
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
