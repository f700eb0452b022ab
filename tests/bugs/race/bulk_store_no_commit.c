/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the store belongs to no group, so the wait waits for nothing
 * fix: sett_tma_store_commit(b) between the store and the wait
 * public: mKernel #18
 * The commit is left out of the first of two stores of a buffer's halves; the wait for all groups then names the second store alone, and
 * the first half is refilled under the copy. */
#include "bug.h"

enum { THREADS = 128, HALF = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(sett_warp_idx(b), 0);
    sett_for (b, k, 0, 2, 1) {
        sett_set(s, sett_neg(sett_at(X, k, t)), t); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, first) {
            sett_tensor *to = sett_slice(Y, k, ALL);
            sett_bulk_store(sett_local_tile(s, T1(HALF), T1(0)), sett_local_tile(to, T1(HALF), T1(0)));
            sett_tma_store_commit(b);
            sett_bulk_store(sett_local_tile(s, T1(HALF), T1(1)), sett_local_tile(to, T1(HALF), T1(1))); /* @1 copy */
            if (bug_twin)
                sett_tma_store_commit(b);
            sett_tma_store_wait_read(b, 0); /* @wait */
        }
        sett_sync_threads(b);
    }
    sett_if (b, first) {
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, THREADS), y = bug_out(SETT_F32, 2, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * THREADS; i++)
        bug_expect(&y, i, -bug_get(&x, i));
    return bug_close();
}
