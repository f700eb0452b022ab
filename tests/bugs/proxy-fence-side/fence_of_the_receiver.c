/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence-side
 * missing: the block whose memory it is fences, behind the cluster's barrier; the peer that stored does not
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC) in the peer, in front of the barrier
 * The last step of a reduction over a cluster: each block leaves its sums in the next one's shared memory, which stores them in bulk. The
 * fence is in the wrong block. */
#include "bug.h"

enum { BLOCKS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, BLOCKS);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N), .align = 16);
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b);
    sett_set(sett_map_dsmem(in, sett_mod(sett_add(rank, 1), BLOCKS)), sett_at(X, rank, t), t); /* @1 write */
    if (bug_twin)
        sett_fence_proxy(b, SETT_PROXY_ASYNC);
    sett_cluster_sync(b);
    if (!bug_twin)
        sett_fence_proxy(b, SETT_PROXY_ASYNC); /* @fence */
    sett_bulk_store(in, sett_slice(Y, rank, ALL)); /* @2 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + (BLOCKS - 1) * N) % (BLOCKS * N)));
    return bug_close();
}
