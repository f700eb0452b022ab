/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: the prefetch of a tile that nobody needs is still under way when the block ends
 * fix: no load past the last tile, or a wait for it
 * The loop prefetches one tile more than it uses. The copy lands in shared memory that may belong to the next block by then: its tiles are
 * what goes wrong, not this block's. */
#include "bug.h"

enum { N = 32, TILES = 4, BLOCKS = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 128, .name = "two"), *full = sett_make_mbarriers(b, 2);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < 2; i++)
            sett_mbarrier_init(sett_slice(full, i), 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    for (int k = 0; k <= TILES; k++) {
        if (!bug_twin || k < TILES) {
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, k % 2), N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k < TILES ? k : 0, ALL), sett_slice(two, ALL, k % 2), sett_slice(full, k % 2)); /* @1 copy */
        }
        if (!k)
            continue;
        sett_mbarrier_wait(sett_slice(full, (k - 1) % 2), (k - 1) / 2 % 2);
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(two, t, (k - 1) % 2)), 0);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
    }
    sett_set(Y, sett_at(sum, 0), sett_block_idx(b, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < BLOCKS * N; i++) {
        double sum = 0;
        for (int k = 0; k < TILES; k++)
            sum += bug_get(&x, k * N + i % N);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
