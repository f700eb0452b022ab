/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: rank 0 reads its counter and ends; a peer that comes later adds to memory that is gone
 * fix: sett_cluster_sync(b) at the end of the kernel
 * Blocks add their counts to rank 0's shared memory. Rank 0 waits for the blocks whose counts it reads; the last block adds to a place of
 * its own there, for which nobody waits. */
#include "bug.h"

enum { BLOCKS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, BLOCKS);
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_tensor *sum = sett_make_smem_tensor(b, SETT_I32, 2 * N, 16, .name = "sum"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *works = sett_lt(rank, BLOCKS - 1);
    for (int i = 0; i < 2; i++)
        sett_set(sum, 0, sett_add(t, i * N));
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, (BLOCKS - 1) * N);
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_atomic_add(sett_map_dsmem(sum, 0), sett_at(X, rank, t), sett_where(works, t, sett_add(t, N))); /* @1 atomic */
    sett_mbarrier_arrive(sett_map_dsmem(came, 0), .pred = works);
    sett_if (b, sett_eq(rank, 0)) {
        sett_mbarrier_wait(came, 0, .cluster = true); /* @wait */
        sett_set(Y, sett_at(sum, t), t);
    }
    if (bug_twin)
        sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, BLOCKS, N), y = bug_out(SETT_I32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < BLOCKS - 1; k++)
            sum += bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
