/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the two blocks of a cluster belong to groups of different depth, and each waits for halves that the other one copies
 * fix: no multicast where the blocks of a cluster have different groups; here: the same number of steps in both
 * public: DeepGEMM #429
 * Blocks share the columns of B: each copies a half of a tile to both. With an odd number of tiles in a group a cluster spans two groups, one
 * with 4 steps and one with 2. Behind the shorter one nobody copies the other half any more. */
#include "bug.h"

enum { N = 64, HALF = N / 2, STEPS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_row_major(b, STEPS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STEPS)), 128, .name = "s"), *full = sett_make_mbarriers(b, STEPS);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *depth = sett_sub(STEPS, sett_mul(rank, 2)); /* of the block's group */
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_if (b, sett_eq(t, 0)) {
        for (int k = 0; k < STEPS; k++)
            sett_mbarrier_init(sett_slice(full, k), 1);
        sett_fence_mbarrier_init(b);
        for (int k = 0; k < STEPS; k++)
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, k), N * 4); /* @2 arrive */
    }
    sett_cluster_sync(b);
    sett_for (b, k, 0, bug_twin ? sett_arg_i(STEPS) : SETT_A(depth), 1) {
        sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
            sett_tensor *from = sett_local_tile(sett_slice(B, k, ALL), T1(HALF), T1(rank)), *to = sett_local_tile(sett_slice(s, ALL, k), T1(HALF), T1(rank));
            sett_bulk_load(from, to, sett_slice(full, k), .mask = sett_const(b, SETT_I32, 3)); /* @2 copy */
        }
        sett_mbarrier_wait(sett_slice(full, k), 0, .cluster = true); /* @1 wait */
        sett_if (b, sett_lt(k, depth))
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(s, t, k)), 0);
    }
    sett_set(Y, sett_at(sum, 0), rank, t);
    sett_cluster_sync(b); /* @barrier */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf B = bug_in(SETT_F32, STEPS, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &B, &y);
    for (int i = 0; i < 2 * N; i++) {
        double sum = 0;
        for (int k = 0; k < (i < N ? STEPS : STEPS - 2); k++)
            sum += bug_get(&B, k * N + i % N);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
