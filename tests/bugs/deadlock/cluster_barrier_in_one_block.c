/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the last block of the cluster leaves the loop one round early and waits at another barrier
 * fix: all blocks of a cluster go as many rounds, and leave out the work alone
 * Rows are dealt to the blocks of a cluster, and each round ends with a barrier of the cluster. The number of rounds depends on the rows
 * that a block has: with a row less, block 1 waits for its peer's last sum while the peer waits at the barrier. */
#include "bug.h"

enum { N = 32, ROWS = 5 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *sum = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "sum"), *last = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(last, N);
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_set(sum, 0.0, t);
    sett_val *mine = sett_sub(sett_add(ROWS / 2, 1), rank); /* 3 rows and 2 */
    sett_for (b, k, 0, bug_twin ? sett_arg_i(ROWS / 2 + 1) : SETT_A(mine), 1) {
        sett_if (b, sett_lt(k, mine))
            sett_set(sum, sett_add(sett_at(sum, t), sett_at(X, sett_add(sett_mul(k, 2), rank), t)), t);
        sett_cluster_sync(b); /* @2 barrier */
    }
    sett_mbarrier_arrive(sett_map_dsmem(last, sett_sub(1, rank)));
    sett_mbarrier_wait(last, 0, .cluster = true); /* @1 wait */
    sett_set(Y, sett_sub(sett_at(sum, t), sett_at(sett_map_dsmem(sum, sett_sub(1, rank)), t)), rank, t);
    sett_cluster_sync(b); /* @barrier */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < ROWS; k++)
            sum += (k % 2 ? -1 : 1) * bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
        bug_expect(&y, N + i, -sum);
    }
    return bug_close();
}
