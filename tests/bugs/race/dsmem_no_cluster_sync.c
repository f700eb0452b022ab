/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a peer's sum is read before the peer has written it
 * fix: sett_cluster_sync(b) between the writes to peers and the reads
 * Each block of a cluster writes its sum to both blocks, and reads both. The block's own barrier stands where the cluster's should: it
 * orders the threads of one block. An H200 gives right numbers as long as the blocks run in step. */
#include "bug.h"

enum { BLOCKS = 2, THREADS = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, BLOCKS);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS));
    sett_grid(b, BLOCKS), sett_block(b, THREADS);
    sett_tensor *sums = sett_make_smem_tensor(b, SETT_F32, BLOCKS, 16, .name = "sums");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b);
    sett_val *sum = sett_warp_reduce(sett_at(X, rank, t), SETT_ADD, 32);
    sett_if (b, sett_lt(t, BLOCKS))
        sett_set(sett_map_dsmem(sums, t), sum, rank); /* @1 write */
    if (bug_twin)
        sett_cluster_sync(b);
    else
        sett_sync_threads(b); /* @barrier */
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_sub(sett_at(sums, 0), sett_at(sums, 1)), rank); /* @2 read */
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, THREADS), y = bug_out(SETT_F32, BLOCKS);
    bug_launch(kernel, &x, &y);
    double sum[BLOCKS] = {0};
    for (int i = 0; i < BLOCKS * THREADS; i++)
        sum[i / THREADS] += bug_get(&x, i);
    for (int i = 0; i < BLOCKS; i++)
        bug_expect(&y, i, sum[0] - sum[1]);
    return bug_close();
}
