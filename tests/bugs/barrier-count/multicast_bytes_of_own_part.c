/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race
 * missing: each block gets both halves of the tile, and expects the half that it copies itself
 * fix: expect sett_tma_bytes(map), which counts what comes from all blocks
 * Two blocks share a tile: each copies a half of it to both. The bytes that a block waits for are those that arrive there, not those that
 * it sends. */
#include "bug.h"

enum { N = 64, HALF = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, bug_twin ? N * 4 : HALF * 4); /* @1 arrive */
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(sett_local_tile(X, T1(HALF), T1(rank)), sett_local_tile(s, T1(HALF), T1(rank)), full, .mask = sett_const(b, SETT_I32, 3)); /* @2 copy */
    sett_mbarrier_wait(full, 0, .cluster = true);
    sett_set(Y, sett_at(s, t), rank, t); /* @1 read */
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i % N));
    return bug_close();
}
