/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the peer may not have read the slot of round k when the store of round k + 1 comes
 * fix: the reader's arrival at `taken` of the sender, and a wait for it in front of the next store
 * Two blocks exchange a number a thread and round, through one slot. Each waits for the bytes of its own round, so nobody reads too early;
 * but a fast block sends its next number while the other has yet to load the one before. */
#include "bug.h"

enum { THREADS = 32, ROUNDS = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, 2, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, 2, THREADS));
    sett_grid(b, 2), sett_block(b, THREADS);
    sett_tensor *slot = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "slot"), *bars = sett_make_mbarriers(b, ROUNDS + 1), *taken = sett_slice(bars, ROUNDS);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_if (b, sett_eq(t, 0)) {
        for (int k = 0; k <= ROUNDS; k++)
            sett_mbarrier_init(sett_slice(bars, k), k < ROUNDS ? 1 : THREADS);
        sett_fence_mbarrier_init(b);
        for (int k = 0; k < ROUNDS; k++)
            sett_mbarrier_arrive_and_expect_tx(sett_slice(bars, k), THREADS * 4);
    }
    sett_cluster_sync(b);
    for (int k = 0; k < ROUNDS; k++) {
        if (bug_twin && k)
            sett_mbarrier_wait(taken, (k - 1) % 2, .cluster = true);
        sett_store_async(sett_map_dsmem(sett_local_tile(slot, T1(1), T1(t)), peer), sett_at(X, k, rank, t), sett_map_dsmem(sett_slice(bars, k), peer)); /* @2 write */
        sett_mbarrier_wait(sett_slice(bars, k), 0, .cluster = true);
        sett_set(Y, sett_at(slot, sett_xor(t, 3)), k, rank, t); /* @1 read */
        if (bug_twin)
            sett_mbarrier_arrive(sett_map_dsmem(taken, peer));
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, 2, THREADS), y = bug_out(SETT_F32, ROUNDS, 2, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * 2 * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, (i / THREADS ^ 1) * THREADS + (i % THREADS ^ 3)));
    return bug_close();
}
