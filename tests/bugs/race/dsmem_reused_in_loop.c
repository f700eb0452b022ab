/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a peer may still read the numbers of this round when they are overwritten with those of the next
 * fix: a second sett_cluster_sync(b) at the end of the round, or two buffers in turn
 * public: flashinfer #3607
 * Blocks exchange a row in each round: write own, sync the cluster, read the peer's. One barrier a round says that the rows are there;
 * nothing says that they have been read. */
#include "bug.h"

enum { BLOCKS = 2, THREADS = 64, ROUNDS = 5 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, BLOCKS);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, BLOCKS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, BLOCKS, THREADS));
    sett_grid(b, BLOCKS), sett_block(b, THREADS);
    sett_tensor *row = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "row");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_tensor *peer = sett_map_dsmem(row, sett_sub(1, rank));
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_set(row, sett_at(X, k, rank, t), t); /* @2 write */
        sett_cluster_sync(b);
        sett_set(Y, sett_at(peer, sett_sub(THREADS - 1, t)), k, rank, t); /* @1 read */
        if (bug_twin)
            sett_cluster_sync(b);
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, BLOCKS, THREADS), y = bug_out(SETT_F32, ROUNDS, BLOCKS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * BLOCKS * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, (i / THREADS ^ 1) * THREADS + THREADS - 1 - i % THREADS));
    return bug_close();
}
