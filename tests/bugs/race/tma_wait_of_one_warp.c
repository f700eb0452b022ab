/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: warps 1 to 3 wait neither for the copy nor for warp 0
 * fix: sett_mbarrier_wait(full, 0) in each warp that reads, or sett_sync_threads behind that of warp 0
 * One warp starts a copy by TMA and waits for its bytes; the others read as well. Warp 0 is right by itself, so the first rows of the tile
 * are; on an H200 the others often see what was in shared memory before. */
#include "bug.h"

enum { THREADS = 128, ROWS = 4, COLUMNS = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, COLUMNS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, COLUMNS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, COLUMNS), 128, .name = "tile"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(X, .smem = tile, .tile = T(ROWS, COLUMNS));
    sett_val *warp = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(warp, 0)) {
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(map), .pred = sett_elect_one(b));
        sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(ROWS, COLUMNS), T(0, 0)), tile, full); /* @1 copy */
        sett_mbarrier_wait(full, 0); /* @wait */
    }
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(Y, sett_at(tile, warp, lane), warp, lane); /* @2 read */
    sett_sync_threads(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, COLUMNS), y = bug_out(SETT_F32, ROWS, COLUMNS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
