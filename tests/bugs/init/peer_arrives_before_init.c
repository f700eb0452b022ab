/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: a peer arrives at an mbarrier that this block may not have made yet; sett_sync_threads is of the own block
 * fix: sett_cluster_sync(b) behind the inits
 * Blocks make their mbarriers, meet as blocks, and arrive at each other's. A block that begins late has its peer's arrival before its init,
 * and waits for ever. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_cluster_sync(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, N); /* @1 init */
        sett_fence_mbarrier_init(b);
    }
    if (bug_twin)
        sett_cluster_sync(b);
    else
        sett_sync_threads(b); /* @barrier */
    sett_set(sett_map_dsmem(in, peer), sett_at(X, rank, t), t);
    sett_mbarrier_arrive(sett_map_dsmem(came, peer)); /* @2 arrive */
    sett_mbarrier_wait(came, 0, .cluster = true);
    sett_set(Y, sett_at(in, sett_xor(t, 1)), rank, t);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i / N ^ 1) * N + (i % N ^ 1)));
    return bug_close();
}
