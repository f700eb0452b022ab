/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the additions may still be under way when the counter tells the last block that they are done
 * fix: sett_tma_store_wait(b, 0) in place of sett_tma_store_wait_read, in front of the counter
 * Split-K: each block adds its part to W by a bulk reduction and counts itself; the last one scales W. With .read the wait ends when
 * shared memory was read. The last block then reads sums that lack a part; an H200 does so about once in thousands of launches. */
#include "bug.h"

enum { THREADS = 32, SPLITS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, SPLITS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, THREADS));
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, THREADS), .align = 16), *count = sett_param(b, "count", SETT_I32, sett_row_major(b, 1));
    sett_grid(b, SPLITS), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, sett_at(X, sett_block_idx(b, 0), t), t);
    sett_fence_view_async_shared(b);
    sett_sync_warp(b);
    sett_bulk_reduce(SETT_ADD, s, W); /* @1 copy */
    sett_tma_store_commit(b);
    if (bug_twin)
        sett_tma_store_wait(b, 0);
    else
        sett_tma_store_wait_read(b, 0); /* @wait */
    sett_sync_warp(b);
    sett_tensor *came = sett_var(b, SETT_I32, 0);
    sett_if (b, sett_eq(t, 0))
        sett_set(came, sett_atomic_ordered(count, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, 0), 0);
    sett_sync_warp(b);
    sett_if (b, sett_eq(sett_shuffle_sync(sett_at(came, 0), 0, 32), SPLITS - 1))
        sett_set(Y, sett_mul(sett_at(W, t), 2), 0, t); /* @2 read */
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, SPLITS, THREADS), y = bug_out(SETT_F32, 1, THREADS), w = bug_full(0, SETT_F32, THREADS), count = bug_full(0, SETT_I32, 1);
    bug_launch(kernel, &x, &y, &w, &count);
    for (int i = 0; i < THREADS; i++) {
        double sum = 0;
        for (int k = 0; k < SPLITS; k++)
            sum += bug_get(&x, k * THREADS + i);
        bug_expect(&y, i, 2 * sum);
    }
    return bug_close();
}
