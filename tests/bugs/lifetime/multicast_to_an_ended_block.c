/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: a block without work ends at once, and the multicast of its peer still writes its shared memory
 * fix: the block without work stays until the copies have come: sett_cluster_sync(b) at the end of all blocks
 * A grid was rounded up to whole clusters. The block that is too many returns early, which is right in a kernel without clusters. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(rank, 0)) {
        sett_bulk_load(X, s, full, .mask = sett_const(b, SETT_I32, 3)); /* @1 copy */
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_mul(sett_at(s, t), 2), 0, t);
    }
    if (bug_twin) {
        sett_mbarrier_wait(full, 0, .cluster = true); /* in block 1 too: its own bytes have come */
        sett_cluster_sync(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 1, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
