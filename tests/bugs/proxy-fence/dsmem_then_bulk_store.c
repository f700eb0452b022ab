/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the peer's stores to this block's memory are of the generic proxy, and nobody has fenced them
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC) in the threads that store, in front of the cluster's barrier
 * Blocks of a cluster write their halves of a row into block 0, which stores the row in bulk. The barrier of the cluster orders threads
 * alone, as that of a block does. */
#include "bug.h"

enum { THREADS = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2 * THREADS), .align = 16);
    sett_grid(b, 2), sett_block(b, THREADS);
    sett_tensor *row = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, 2)), 16, .name = "row");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b);
    sett_set(sett_map_dsmem(row, 0), sett_mul(sett_at(X, rank, t), 2), t, rank); /* @1 write */
    if (bug_twin)
        sett_fence_proxy(b, SETT_PROXY_ASYNC);
    sett_cluster_sync(b);
    sett_if (b, sett_eq(rank, 0)) {
        sett_bulk_store(row, Y); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, THREADS), y = bug_out(SETT_F32, 2 * THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * THREADS; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
