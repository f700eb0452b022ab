/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the block's barrier orders the loads with what threads do behind it, not with what TMA does
 * fix: sett_fence_view_async_shared(b) in each thread in front of the barrier at the end of the round
 * public: DeepGEMM #389
 * One stage, no ring: load by TMA, wait, add up, barrier, next. The barrier looks as if it were enough, and for threads it is. */
#include "bug.h"

enum { ROWS = 8, COLUMNS = 64, THREADS = 64, TILES = 5 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS * TILES, COLUMNS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, COLUMNS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, COLUMNS), 128, .name = "tile"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(X, .smem = tile, .tile = T(ROWS, COLUMNS));
    sett_tensor *from = sett_local_tile(sett_tma_tensor(map), T(ROWS, COLUMNS), T(ALL, 0));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
            sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(map), .pred = sett_elect_one(b));
            sett_tma_load(map, sett_slice(from, ALL, ALL, k), tile, full); /* @2 copy */
        }
        sett_mbarrier_wait(full, sett_mod(k, 2));
        sett_set(Y, sett_reduce(sett_load(sett_slice(tile, ALL, t)), SETT_ADD, 0.0), k, t); /* @1 read */
        if (bug_twin)
            sett_fence_view_async_shared(b);
        sett_sync_threads(b); /* @barrier */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS * TILES, COLUMNS), y = bug_out(SETT_F32, TILES, COLUMNS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * COLUMNS; i++) {
        double sum = 0;
        for (int r = 0; r < ROWS; r++)
            sum += bug_get(&x, (i / COLUMNS * ROWS + r) * COLUMNS + i % COLUMNS);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
