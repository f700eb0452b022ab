/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the copy to the peer completes at the peer's mbarrier, and nothing tells the sender that its buffer has been read
 * fix: wait for the peer's answer (an arrival at `taken`) in front of the next write
 * A block sends a row a round to its peer by sett_bulk_peer. Such a copy belongs to no bulk group, so no wait_group of the sender names it.
 * The sender refills the buffer at once. An H200 gives right numbers while the copies are short. */
#include "bug.h"

enum { THREADS = 32, ROUNDS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS));
    sett_grid(b, 2), sett_block(b, THREADS);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "out"), *in = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, ROUNDS)), 16, .name = "in");
    sett_tensor *came = sett_make_mbarriers(b, ROUNDS), *taken = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(t, 0)) {
        for (int k = 0; k < ROUNDS; k++)
            sett_mbarrier_init(sett_slice(came, k), 1);
        sett_mbarrier_init(taken, 1);
        sett_fence_mbarrier_init(b);
        for (int k = 0; k < ROUNDS; k++)
            sett_mbarrier_arrive_and_expect_tx(sett_slice(came, k), THREADS * 4);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(rank, 0)) {
        for (int k = 0; k < ROUNDS; k++) {
            if (bug_twin && k)
                sett_mbarrier_wait(taken, (k - 1) % 2, .cluster = true);
            sett_set(out, sett_at(X, k, t), t); /* @2 write */
            sett_fence_view_async_shared(b);
            sett_sync_warp(b);
            sett_bulk_peer(out, sett_map_dsmem(sett_slice(in, ALL, k), 1), sett_map_dsmem(sett_slice(came, k), 1)); /* @1 copy */
        }
    }
    sett_else (b) {
        for (int k = 0; k < ROUNDS; k++) {
            sett_mbarrier_wait(sett_slice(came, k), 0);
            sett_set(Y, sett_at(in, t, k), k, t);
            if (bug_twin)
                sett_mbarrier_arrive(sett_map_dsmem(taken, 0), .pred = sett_eq(t, 0));
        }
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, THREADS), y = bug_out(SETT_F32, ROUNDS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
