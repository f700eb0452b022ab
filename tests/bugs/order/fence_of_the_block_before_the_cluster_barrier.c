/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: scope of the fence: it is of the block, and the relaxed arrival at the cluster's barrier promises nothing by itself
 * fix: sett_fence_acq_rel_cluster(b), or sett_cluster_arrive(b)
 * A relaxed arrival saves its fence, and the author adds one of the block, "which is cheaper". What was stored to the peer is for the cluster
 * to see. */
#include "bug.h"

enum { N = 32 };

static void exchange(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_cluster(b, 2), sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_cluster_sync(b);
    sett_set(sett_map_dsmem(s, peer), sett_at(X, rank, t), t); /* @1 write */
    if (bug_twin)
        sett_fence_acq_rel_cluster(b);
    else
        sett_fence_acq_rel_cta(b); /* @fence */
    sett_cluster_arrive_relaxed(b); /* @barrier */
    sett_cluster_wait(b);
    sett_set(Y, sett_at(s, sett_sub(N - 1, t)), rank, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(exchange, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (1 - i / N) * N + N - 1 - i % N));
    return bug_close();
}
