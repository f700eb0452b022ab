/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: two stores share a group, and the newest group, which may be pending, has the buffer that is written next
 * fix: sett_tma_store_commit(b) in every round
 * The commit is under the condition of the odd rounds, to save half of them. The count of the wait is still that of one store a group.
 * An H200 gives torn tiles only where the store is held up. */
#include "bug.h"

enum { THREADS = 32, ROUNDS = 8 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, 2)), 16, .name = "two");
    sett_val *t = sett_thread_idx(b, 0);
    for (int k = 0; k < ROUNDS; k++) {
        sett_tma_store_wait_read(b, 1); /* @wait */
        sett_sync_warp(b);
        sett_set(two, sett_at(X, ROUNDS - 1 - k, t), t, k % 2); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_store(sett_slice(two, ALL, k % 2), sett_slice(Y, k, ALL)); /* @1 copy */
        if (bug_twin || k % 2)
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
        bug_expect(&y, i, bug_get(&x, (ROUNDS - 1 - i / THREADS) * THREADS + i % THREADS));
    return bug_close();
}
