/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: the leader ends without waiting for the peer's last release, which arrives at its mbarrier
 * fix: sett_cluster_sync(b) at the end, or wait for `empty` once more, as sett_producer_tail does
 * public: sglang #32954
 * A leader multicasts a tile, and the blocks' consumers release it at the leader's `empty`. Nobody needs that last release, so nobody waits
 * for it. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0), *empty = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *leader = sett_eq(rank, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_mbarrier_init(empty, 2);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_cluster_sync(b);
    sett_if (b, leader)
        sett_bulk_load(X, s, full, .mask = sett_const(b, SETT_I32, 3));
    sett_mbarrier_wait(full, 0, .cluster = true);
    sett_set(Y, sett_at(s, sett_xor(t, 1)), rank, t);
    sett_sync_warp(b);
    sett_mbarrier_arrive(sett_map_dsmem(empty, 0), .pred = sett_eq(t, 0)); /* @1 arrive */
    if (bug_twin)
        sett_if (b, leader)
            sett_mbarrier_wait(empty, 0, .cluster = true);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i ^ 1) % N));
    return bug_close();
}
