/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: warp 0 knows that the store has read, and the other warps do not
 * fix: sett_sync_threads(b) between the wait of warp 0 and the writes of all
 * The epilogue's usual shape: one warp stores and waits, all threads write. Without the barrier only warp 0's own writes are behind its
 * wait. Three quarters of a tile may be torn; an H200 shows it when warp 0 is held up by the store. */
#include "bug.h"

enum { THREADS = 128, ROUNDS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, 2)), 16, .name = "two");
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(sett_warp_idx(b), 0);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_if (b, first)
            sett_tma_store_wait_read(b, 1);
        if (bug_twin)
            sett_sync_threads(b);
        sett_set(two, sett_mul(sett_at(X, k, t), 3), t, sett_mod(k, 2)); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, first) {
            sett_bulk_store(sett_slice(two, ALL, sett_mod(k, 2)), sett_slice(Y, k, ALL)); /* @1 copy */
            sett_tma_store_commit(b);
        }
    }
    sett_if (b, first)
        sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, THREADS), y = bug_out(SETT_F32, ROUNDS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        bug_expect(&y, i, 3 * bug_get(&x, i));
    return bug_close();
}
