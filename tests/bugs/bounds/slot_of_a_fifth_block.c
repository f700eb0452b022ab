/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a slot for each block of the cluster: there are two, and four blocks store
 * fix: as many slots as the cluster has blocks
 * The cluster grew from two blocks to four, the array of sums did not. Blocks 2 and 3 store past it, over the weights of block 0. An
 * H200 gives wrong numbers. */
#include "bug.h"

enum { BLOCKS = 4, SLOTS = 2, N = 32 };

static void total(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_cluster(b, BLOCKS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, bug_twin ? BLOCKS : SLOTS, 8, .name = "sums"), *W = sett_make_smem_tensor(b, SETT_F32, BLOCKS, 8, .name = "weights"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *first = sett_eq(t, 0);
    sett_if (b, sett_lt(t, BLOCKS))
        sett_set(W, 2.0, t);
    sett_cluster_sync(b);
    sett_val *sum = sett_warp_reduce(sett_at(X, rank, t), SETT_ADD, 32);
    sett_if (b, first)
        sett_set(sett_map_dsmem(S, 0), sum, rank); /* @1 write */
    sett_cluster_sync(b);
    sett_if (b, sett_and(first, sett_eq(rank, 0))) {
        sett_tensor *all = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, BLOCKS, 1)
            sett_set(all, sett_fma(sett_at(S, k), sett_at(W, k), sett_at(all, 0)), 0); /* @read */
        sett_set(Y, sett_at(all, 0), 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, 1);
    bug_launch(total, &x, &y);
    double all = 0;
    for (int i = 0; i < BLOCKS * N; i++)
        all += 2 * bug_get(&x, i);
    bug_expect(&y, 0, all);
    return bug_close();
}
