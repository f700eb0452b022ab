/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock | barrier-count
 * missing: block 1 expects the bytes of a tile that the mask sends to block 0 alone
 * fix: a mask of both blocks, 3
 * The mask was made for a cluster of one. Block 0 goes on, block 1 waits for ever, and with it block 0 at the cluster's barrier. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 1, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 1, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(X, .smem = s, .tile = T(1, N));
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(map)); /* @2 arrive */
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(rank, 0))
        sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(1, N), T(0, 0)), s, full, .mask = sett_const(b, SETT_I32, bug_twin ? 3 : 1)); /* @2 copy */
    sett_mbarrier_wait(full, 0, .cluster = true); /* @1 wait */
    sett_set(Y, sett_at(s, 0, t), rank, t);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 1, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i % N));
    return bug_close();
}
