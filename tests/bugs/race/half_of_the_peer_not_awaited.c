/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the second half of the tile comes from the peer, and completes at a mbarrier that nobody waits for in time
 * fix: sett_mbarrier_wait(sett_slice(full, 1), 0) in front of the first use of that half
 * Two blocks share a tile: each copies one half to both, rank 0 the first and rank 1 the second, to mbarriers of their own. A block waits
 * for the half that it has asked for itself, uses both, and waits for the other one at the end. */
#include "bug.h"

enum { N = 64, HALF = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_make_mbarriers(b, 2);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < 2; i++)
            sett_mbarrier_init(sett_slice(full, i), 1);
        sett_fence_mbarrier_init(b);
        for (int i = 0; i < 2; i++)
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, i), HALF * 4);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(sett_local_tile(X, T1(HALF), T1(rank)), sett_local_tile(s, T1(HALF), T1(rank)), sett_slice(full, rank), .mask = sett_const(b, SETT_I32, 3)); /* @1 copy */
    sett_mbarrier_wait(sett_slice(full, rank), 0, .cluster = true); /* @wait */
    if (bug_twin)
        sett_mbarrier_wait(sett_slice(full, sett_sub(1, rank)), 0, .cluster = true);
    sett_set(Y, sett_mul(sett_at(s, t), 2), rank, t); /* @2 read */
    sett_mbarrier_wait(sett_slice(full, sett_sub(1, rank)), 0, .cluster = true);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i % N));
    return bug_close();
}
