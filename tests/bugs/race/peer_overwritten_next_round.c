/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier of the cluster between the loads of a round's numbers and the peer's stores of the next round
 * fix: a second sett_cluster_sync(b) in each round
 * In each round a block stores its sum into all blocks of the cluster, meets, and adds up what it got. A block that is ahead stores
 * its next sum into a peer that still reads. An H200 mixes sums of two rounds. */
#include "bug.h"

enum { BLOCKS = 2, ROUNDS = 3, N = 32 };

static void rounds(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, BLOCKS));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_cluster(b, BLOCKS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, BLOCKS, 16);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_val *sum = sett_warp_reduce(sett_at(X, r, rank, t), SETT_ADD, 32);
        sett_if (b, sett_lt(t, BLOCKS))
            sett_set(sett_map_dsmem(S, t), sum, rank); /* @1 write */
        sett_cluster_sync(b);
        sett_if (b, sett_eq(t, 0))
            sett_set(Y, sett_reduce(sett_load(S), SETT_ADD, 0.0), r, rank); /* @2 read */
        if (bug_twin)
            sett_cluster_sync(b);
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, BLOCKS, N), y = bug_out(SETT_F32, ROUNDS, BLOCKS);
    bug_launch(rounds, &x, &y);
    for (int i = 0; i < ROUNDS * BLOCKS; i++) {
        double sum = 0;
        for (int k = 0; k < BLOCKS * N; k++)
            sum += bug_get(&x, i / BLOCKS * BLOCKS * N + k);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
