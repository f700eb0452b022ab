/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: the mbarrier is made only where there is a first tile, and waited for in any case
 * fix: the init outside of the branch
 * A block without tiles skips its prologue, init included, and still takes part in the hand-over at the end. Only blocks of empty groups
 * use what was never made; they hang on an H200, or not, by what the block before left there. */
#include "bug.h"

enum { N = 32, BLOCKS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0); /* @alloc */
    sett_val *lane = sett_lane_idx(b), *tiles = sett_block_idx(b, 0);
    sett_if (b, sett_and(sett_eq(sett_thread_idx(b, 0), 0), bug_twin ? sett_ge(tiles, 0) : sett_gt(tiles, 0)))
        sett_mbarrier_init(full, N); /* @init */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, tiles, 1)
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(X, lane)), 0);
        sett_set(s, sett_at(sum, 0), lane);
        sett_mbarrier_arrive(full); /* @1 arrive */
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0); /* @1 wait */
        sett_set(Y, sett_at(s, lane), tiles, lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, i / N * bug_get(&x, i % N));
    return bug_close();
}
