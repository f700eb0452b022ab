/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the fence stands in front of the stores that it should order
 * fix: sett_fence_view_async_shared(b) behind the stores
 * The fence of a round was put at its head, in front of the stores: it orders those of the round before. The last round is never fenced,
 * and no round is before its own bulk store. */
#include "bug.h"

enum { THREADS = 32, ROUNDS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *slots = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, ROUNDS)), 16, .name = "slots");
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, k, 0, ROUNDS, 1) {
        if (!bug_twin)
            sett_fence_view_async_shared(b); /* @fence */
        sett_set(slots, sett_neg(sett_at(X, k, t)), t, k); /* @1 write */
        if (bug_twin)
            sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_store(sett_slice(slots, ALL, k), sett_slice(Y, k, ALL)); /* @2 copy */
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
        bug_expect(&y, i, -bug_get(&x, i));
    return bug_close();
}
