/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release of the cluster's barrier: its arrival promises nothing of what was stored to the peer before
 * fix: sett_cluster_arrive(b)
 * Each block stores a row to the shared memory of its peer, arrives at the cluster's barrier by the relaxed form, waits and reads its
 * own. The relaxed form is for barriers behind which nothing was written. An H200 gives right numbers when the stores are quick. */
#include "bug.h"

enum { N = 64 };

static void swap(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cluster(b, 2);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b); /* the peer's memory is there */
    sett_set(sett_map_dsmem(S, sett_xor(rank, 1)), sett_at(X, rank, t), t); /* @1 write */
    if (bug_twin)
        sett_cluster_arrive(b);
    else
        sett_cluster_arrive_relaxed(b); /* @arrive */
    sett_cluster_wait(b);
    sett_set(Y, sett_at(S, t), rank, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(swap, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (2 * N)));
    return bug_close();
}
