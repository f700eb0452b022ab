/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the reduction by TMA reads its source in the background, as a store does
 * fix: sett_tma_store_wait_read(b, 0) by the warp that issued it, and a barrier, in front of the next partial sums
 * public: FastVideo #735
 * Partial gradients of tile after tile are added to global memory by sett_tma_reduce. That it returns is taken for "it has added". */
#include "bug.h"

enum { ROWS = 4, N = 32, TILES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, 1), sett_block(b, ROWS * N);
    sett_tensor *part = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "part");
    sett_tma *map = sett_make_tma(Y, .smem = part, .tile = T(ROWS, N));
    sett_val *row = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_set(part, sett_at(X, k, row, lane), row, lane); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, sett_eq(row, 0)) {
            sett_tma_reduce(map, SETT_ADD, part, sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(0, 0))); /* @1 copy */
            sett_tma_store_commit(b);
            if (bug_twin)
                sett_tma_store_wait_read(b, 0);
        }
        sett_sync_threads(b);
    }
    sett_if (b, sett_eq(row, 0))
        sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, ROWS, N), y = bug_full(10, SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++) {
        double sum = 10;
        for (int k = 0; k < TILES; k++)
            sum += bug_get(&x, k * ROWS * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
