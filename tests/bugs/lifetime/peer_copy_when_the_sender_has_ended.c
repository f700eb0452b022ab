/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: a wait of the sender: its shared memory is read by the copy to the peer when it ends
 * fix: sett_cluster_sync(b) at the end, behind the receiver's wait
 * Block 1 sends a row to block 0 by sett_bulk_peer and ends. The copy completes at the receiver; the sender knows nothing of it, and its
 * memory is gone while the copy reads. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_cluster(b, 2), sett_grid(b, 2), sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(rank, 1)) {
        for (int k = 0; k < 2; k++)
            sett_set(s, sett_at(X, sett_add(t, 32 * k)), sett_add(t, 32 * k));
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_peer(s, sett_map_dsmem(in, 0), sett_map_dsmem(full, 0)); /* @1 copy */
    }
    sett_else (b) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_mbarrier_wait(full, 0, .cluster = true);
        for (int k = 0; k < 2; k++)
            sett_set(Y, sett_at(in, sett_add(t, 32 * k)), sett_add(t, 32 * k));
    }
    if (bug_twin)
        sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
