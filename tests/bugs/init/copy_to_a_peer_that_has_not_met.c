/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init | lifetime | race
 * missing: the cluster's barrier behind the mbarriers' inits: each block has met by itself, and copies complete at the peer's too
 * fix: sett_cluster_sync(b)
 * A tile is multicast to both blocks. Each has made its mbarrier and met its own threads; the peer's mbarrier may not be there when the
 * copy's bytes come. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_cluster(b, 2), sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1); /* @init */
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4); /* @arrive */
    }
    if (bug_twin)
        sett_cluster_sync(b);
    else
        sett_sync_threads(b); /* @barrier */
    sett_if (b, sett_and(sett_eq(rank, 0), sett_eq(sett_warp_idx(b), 0)))
        sett_bulk_load(X, s, full, .mask = sett_const(b, SETT_U16, 3)); /* @1 copy */
    sett_mbarrier_wait(full, 0, .cluster = true);
    sett_set(Y, sett_at(s, t), rank, t);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i % N));
    return bug_close();
}
