/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: of a ring of three stages three stores may be pending when the first of them is written again
 * fix: sett_tma_store_wait_read(b, STAGES - 1)
 * In front of the writes of round k, the store of round k - STAGES must have read. STAGES - 1 newer ones may be under way; the wait lets
 * STAGES be. It holds while the copy engine is less than a ring behind. */
#include "bug.h"

enum { THREADS = 32, ROUNDS = 9, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, STAGES)), 16, .name = "ring");
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_val *stage = sett_mod(k, STAGES);
        sett_tma_store_wait_read(b, bug_twin ? STAGES - 1 : STAGES); /* @wait */
        sett_sync_warp(b);
        sett_set(ring, sett_add(sett_at(X, k, t), 1), t, stage); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_store(sett_slice(ring, ALL, stage), sett_slice(Y, k, ALL)); /* @1 copy */
        sett_tma_store_commit(b);
    }
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, THREADS), y = bug_out(SETT_F32, ROUNDS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i) + 1);
    return bug_close();
}
