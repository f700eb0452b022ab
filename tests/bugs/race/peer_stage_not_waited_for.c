/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a block waits for its own tile and then reads the peer's, which may not be there
 * fix: sett_cluster_sync(b) behind the waits, in front of the reads of peers
 * Each block of a cluster loads a half of the rows, and reads the other half in its peer. Its own mbarrier says nothing about the peer's
 * copy. Both were issued at about the same time, so an H200 is mostly right. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *half = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "half"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(sett_slice(X, rank, ALL), half, full); /* @1 copy */
    sett_mbarrier_wait(full, 0); /* @wait */
    if (bug_twin)
        sett_cluster_sync(b);
    sett_set(Y, sett_add(sett_at(half, t), sett_at(sett_map_dsmem(half, sett_sub(1, rank)), t)), rank, t); /* @2 read */
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i) + bug_get(&x, (i + N) % (2 * N)));
    return bug_close();
}
