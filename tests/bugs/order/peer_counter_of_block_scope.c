/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order | race
 * missing: scope: blocks of a cluster count in the first one's shared memory by atomics of the block's scope
 * fix: SETT_SCOPE_CLUSTER
 * A counter in shared memory of block 0 that all blocks of the cluster add to. Atomics in shared memory had the block's scope since ever; a
 * peer is not in it. */
#include "bug.h"

enum { N = 32, BLOCKS = 4 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, 1));
    sett_cluster(b, BLOCKS), sett_grid(b, BLOCKS), sett_block(b, N);
    sett_tensor *c = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "c");
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_set(c, 0, 0);
    sett_cluster_sync(b);
    sett_atomic_ordered(sett_map_dsmem(c, 0), SETT_ATOMIC_ADD, SETT_SEM_RELAXED, bug_twin ? SETT_SCOPE_CLUSTER : SETT_SCOPE_CTA, 1, 0); /* @1 atomic */
    sett_cluster_sync(b);
    sett_if (b, sett_and(sett_eq(sett_block_idx(b, 0), 0), sett_eq(t, 0)))
        sett_set(Y, sett_at(c, 0), 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf y = bug_out(SETT_I32, 1);
    bug_launch(count, &y);
    bug_expect(&y, 0, N * BLOCKS);
    return bug_close();
}
