/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | divergence | deadlock | race
 * missing: a wait between two arrivals at the cluster's barrier
 * fix: sett_cluster_wait(b) in front of the second arrival
 * A kernel arrives early, to hide the barrier's time, and in a branch that not every launch takes it arrives once more before it waits. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_cluster(b, 2), sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_set(s, sett_at(X, rank, t), t);
    sett_cluster_arrive(b); /* @1 barrier */
    if (bug_twin)
        sett_cluster_wait(b);
    sett_cluster_arrive(b); /* @1 barrier */
    sett_cluster_wait(b);
    sett_set(Y, sett_at(sett_map_dsmem(s, sett_sub(1, rank)), t), rank, t);
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
