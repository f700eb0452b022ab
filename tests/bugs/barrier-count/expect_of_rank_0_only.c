/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: the copy completes at the mbarrier of each block that the mask names, and only rank 0 expects its bytes there
 * fix: sett_mbarrier_arrive_and_expect_tx in every block
 * public: TLX #908
 * "Rank 0 makes the copy, so rank 0 expects it." The mbarrier of rank 1 gets bytes that nobody announced, and never the arrival. All blocks
 * of odd rank hang. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *leader = sett_eq(rank, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1); /* @2 init */
        sett_fence_mbarrier_init(b);
        sett_if (b, bug_twin ? sett_ge(rank, 0) : leader)
            sett_mbarrier_arrive_and_expect_tx(full, N * 4); /* @2 arrive */
    }
    sett_cluster_sync(b);
    sett_if (b, leader)
        sett_bulk_load(X, s, full, .mask = sett_const(b, SETT_I32, 3)); /* @1 copy */
    sett_mbarrier_wait(full, 0, .cluster = true); /* @1 wait */
    sett_set(Y, sett_neg(sett_at(s, t)), rank, t);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, -bug_get(&x, i % N));
    return bug_close();
}
