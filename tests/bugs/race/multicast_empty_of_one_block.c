/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the stage of the peer, which the multicast also writes, was not released by the peer's consumers
 * fix: the peer's consumers arrive at this block's `empty` too, whose count is then that of both blocks
 * Block 0 loads each tile for both blocks of the cluster. Its `empty` counts its own consumers: a tile lands in block 1 while that block
 * still reads the tile before. Block 1 tells its own `empty`, at which nobody waits. */
#include "bug.h"

enum { N = 32, TILES = 8, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2 * TILES, N));
    sett_grid(b, 2), sett_block(b, 64);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_val *lane = sett_lane_idx(b), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), 1);
            sett_mbarrier_init(sett_slice(empty, i), bug_twin ? 2 : 1); /* @init */
        }
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *round = sett_floordiv(k, STAGES);
            sett_mbarrier_wait(sett_slice(empty, stage), sett_sub(1, sett_mod(round, 2)), .cluster = true); /* @wait */
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, stage), N * 4, .pred = sett_elect_one(b));
            sett_if (b, sett_eq(rank, 0))
                sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, stage), sett_slice(full, stage), .mask = sett_const(b, SETT_I32, 3)); /* @2 copy */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *round = sett_floordiv(k, STAGES);
            sett_mbarrier_wait(sett_slice(full, stage), sett_mod(round, 2), .cluster = true);
            sett_set(Y, sett_at(ring, lane, stage), sett_add(sett_mul(rank, TILES), k), lane); /* @1 read */
            sett_fence_view_async_shared(b);
            sett_sync_warp(b);
            if (bug_twin)
                sett_if (b, sett_lt(lane, 2))
                    sett_mbarrier_arrive(sett_map_dsmem(sett_slice(empty, stage), lane));
            else
                sett_mbarrier_arrive(sett_slice(empty, stage), .pred = sett_eq(lane, 0)); /* @release */
        }
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, 2 * TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i % (TILES * N)));
    return bug_close();
}
