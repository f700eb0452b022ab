/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: st.async is not in its thread's program order: the cluster's barrier does not wait for it
 * fix: sett_mbarrier_wait at the mbarrier that it completes at
 * Each block sends its numbers to the peer by sett_store_async, then all meet at the barrier of the cluster, and read. The barrier orders
 * what threads stored; these stores are under way by themselves. Right on an H200 nearly always. */
#include "bug.h"

enum { THREADS = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, THREADS));
    sett_grid(b, 2), sett_block(b, THREADS);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "in"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(came, THREADS * 4);
    }
    sett_cluster_sync(b);
    sett_store_async(sett_map_dsmem(sett_local_tile(in, T1(1), T1(t)), peer), sett_at(X, rank, t), sett_map_dsmem(came, peer)); /* @1 write */
    if (bug_twin)
        sett_mbarrier_wait(came, 0, .cluster = true);
    sett_cluster_sync(b); /* @barrier */
    sett_set(Y, sett_at(in, sett_sub(THREADS - 1, t)), rank, t); /* @2 read */
    sett_mbarrier_wait(came, 0, .cluster = true);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, THREADS), y = bug_out(SETT_F32, 2, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, (i / THREADS ^ 1) * THREADS + THREADS - 1 - i % THREADS));
    return bug_close();
}
