/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: `empty` of the leader waits for the consumers of two blocks, and those of the peer arrive at their own
 * fix: sett_mbarrier_arrive(sett_map_dsmem(empty, 0)) in every block
 * The leader loads for both blocks. Its counts were changed when the kernel got clusters, and the releases were not. It hangs when the ring
 * is full for the first time. */
#include "bug.h"

enum { N = 32, TILES = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, TILES, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0), *empty = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *leader = sett_eq(rank, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_mbarrier_init(empty, 2); /* @2 init */
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_if (b, leader) {
            sett_mbarrier_wait(empty, sett_sub(1, sett_mod(k, 2)), .cluster = true); /* @1 wait */
            sett_bulk_load(sett_slice(X, k, ALL), s, full, .mask = sett_const(b, SETT_I32, 3));
        }
        sett_mbarrier_wait(full, sett_mod(k, 2), .cluster = true); /* @1 wait */
        sett_set(Y, sett_at(s, t), rank, k, t);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        if (bug_twin)
            sett_mbarrier_arrive(sett_map_dsmem(empty, 0), .pred = sett_eq(t, 0));
        else
            sett_mbarrier_arrive(empty, .pred = sett_eq(t, 0)); /* @2 arrive */
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, 2, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i % (TILES * N)));
    return bug_close();
}
