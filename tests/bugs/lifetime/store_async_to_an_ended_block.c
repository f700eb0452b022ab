/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: the receiver ends without having waited for what its peer sends
 * fix: sett_mbarrier_wait(came, 0) in the receiver, whether it uses the numbers or not
 * Each block sends its maximum to the other, and only the block that needs it, rank 0, waits. Block 1 may be gone when the store comes. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(came, N * 4);
    }
    sett_cluster_sync(b);
    sett_val *x = sett_at(X, rank, t);
    sett_store_async(sett_map_dsmem(sett_local_tile(in, T1(1), T1(t)), peer), x, sett_map_dsmem(came, peer)); /* @1 write */
    sett_if (b, bug_twin ? sett_ge(rank, 0) : sett_eq(rank, 0))
        sett_mbarrier_wait(came, 0, .cluster = true); /* @wait */
    sett_if (b, sett_eq(rank, 0))
        sett_set(Y, sett_max(x, sett_at(in, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, fmax(bug_get(&x, i), bug_get(&x, N + i)));
    return bug_close();
}
