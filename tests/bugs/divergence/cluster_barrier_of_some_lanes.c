/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: the upper lanes of the warp at the cluster's barrier, which is .aligned
 * fix: sett_cluster_sync(b) outside of the branch
 * The last barrier of a cluster, which keeps the peer's memory until it was read, stands in the branch of the threads that read.
 * barrier.cluster.arrive and .wait are of all threads, and whole warps execute them together. An H200 hangs or goes on by chance. */
#include "bug.h"

enum { N = 32 };

static void total(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, 2 * N);
    sett_cluster(b, 2);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *first = sett_eq(sett_warp_idx(b), 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, first)
        sett_set(S, sett_at(X, rank, lane), lane);
    sett_cluster_sync(b);
    sett_if (b, sett_and(first, sett_eq(rank, 0)))
        sett_set(Y, sett_add(sett_at(S, t), sett_at(sett_map_dsmem(S, 1), t)), t);
    if (bug_twin)
        sett_cluster_sync(b);
    else
        sett_if (b, sett_lt(lane, N / 2))
            sett_cluster_sync(b); /* @1 barrier */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, N);
    bug_launch(total, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) + bug_get(&x, N + i));
    return bug_close();
}
