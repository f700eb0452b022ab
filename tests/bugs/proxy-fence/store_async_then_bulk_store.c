/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: a proxy fence of the receiver: st.async writes by the generic proxy, and the bulk store reads by the async one
 * fix: sett_fence_view_async_shared(b) behind the wait, then sett_sync_warp(b)
 * A peer sends a row by st.async, which completes at an mbarrier as copies do. It is a store of threads all the same; who waited for it knows
 * the numbers, and the bulk engine need not see them. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N), .align = 16);
    sett_cluster(b, 2), sett_grid(b, 2), sett_block(b, N);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_cluster_sync(b);
    sett_store_async(sett_map_dsmem(sett_local_tile(in, T1(1), T1(t)), peer), sett_at(X, rank, t), sett_map_dsmem(full, peer)); /* @1 write */
    sett_mbarrier_wait(full, 0, .cluster = true);
    if (bug_twin)
        sett_fence_view_async_shared(b), sett_sync_warp(b);
    sett_bulk_store(in, sett_slice(Y, rank, ALL)); /* @2 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (2 * N)));
    return bug_close();
}
