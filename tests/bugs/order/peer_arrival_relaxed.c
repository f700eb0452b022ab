/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release of the arrival at the peer's mbarrier
 * fix: sett_mbarrier_arrive without .relaxed
 * A thread stores a number into the peer's shared memory, and arrives at the peer's mbarrier by the relaxed form that saves the fence
 * of the cluster. It is enough to say that memory was read; here it was written. An H200 may deliver the arrival before the number. */
#include "bug.h"

enum { N = 64 };

static void swap(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cluster(b, 2);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16), *bars = sett_make_mbarriers(b, 1), *bar = sett_slice(bars, 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_xor(rank, 1);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(bar, N);
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_set(sett_map_dsmem(S, peer), sett_at(X, rank, t), t); /* @1 write */
    sett_mbarrier_arrive(sett_map_dsmem(bar, peer), .relaxed = !bug_twin); /* @arrive */
    sett_mbarrier_wait(bar, 0, .cluster = true);
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), rank, t); /* @2 read */
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(swap, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (1 - i / N) * N + N - 1 - i % N));
    return bug_close();
}
