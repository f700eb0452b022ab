/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: atomicity: all blocks of a cluster add to a sum in block 0 by a load and a store
 * fix: sett_atomic_add of the peer's word
 * Four blocks add their sums to one word in the shared memory of block 0. The load and the store go to the peer separately. An H200
 * loses sums. */
#include "bug.h"

enum { BLOCKS = 4, N = 32 };

static void total(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_cluster(b, BLOCKS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, 1, 16);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *first = sett_eq(t, 0);
    sett_if (b, first)
        sett_set(S, 0, 0);
    sett_cluster_sync(b);
    sett_val *sum = sett_warp_reduce(sett_at(X, rank, t), SETT_ADD, 32);
    sett_tensor *there = sett_map_dsmem(S, 0);
    sett_if (b, first) {
        if (bug_twin)
            sett_atomic_add(there, sum, 0);
        else
            sett_set(there, sett_add(sett_at(there, 0), sum), 0); /* @1 write @2 read */
    }
    sett_cluster_sync(b);
    sett_if (b, sett_and(first, sett_eq(rank, 0)))
        sett_set(Y, sett_at(S, 0), 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, BLOCKS, N), y = bug_out(SETT_I32, 1);
    bug_launch(total, &x, &y);
    double sum = 0;
    for (int i = 0; i < BLOCKS * N; i++)
        sum += bug_get(&x, i);
    bug_expect(&y, 0, sum);
    return bug_close();
}
