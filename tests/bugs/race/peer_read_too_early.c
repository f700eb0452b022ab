/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the wait at the cluster's barrier between the peer's stores and the loads of its memory
 * fix: sett_cluster_wait(b) before the load
 * Blocks of a cluster read each other's rows. They arrive at the cluster's barrier behind their stores, and wait for it at the end of
 * the kernel, where it keeps the memory in place; the loads between do not wait. An H200 gives old contents of the peer. */
#include "bug.h"

enum { N = 64 };

static void exchange(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cluster(b, 2);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b); /* the peer has begun */
    sett_set(S, sett_at(X, rank, t), t); /* @1 write */
    sett_cluster_arrive(b);
    if (bug_twin)
        sett_cluster_wait(b);
    sett_set(Y, sett_at(sett_map_dsmem(S, sett_xor(rank, 1)), t), rank, t); /* @2 read */
    if (bug_twin)
        sett_cluster_arrive(b);
    sett_cluster_wait(b);
    if (!bug_twin)
        sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(exchange, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (2 * N)));
    return bug_close();
}
