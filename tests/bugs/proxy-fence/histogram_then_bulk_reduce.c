/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: atomics in shared memory are of the generic proxy too, and the bulk reduction reads by the async proxy
 * fix: sett_fence_view_async_shared(b) behind the atomics, in front of the barrier
 * A block counts in shared memory and adds its counts to global memory in bulk. Atomics are taken for something stronger than stores. */
#include "bug.h"

enum { BINS = 32, THREADS = 128, BLOCKS = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, BLOCKS, THREADS)), *H = sett_param(b, "H", SETT_I32, sett_row_major(b, BINS), .align = 16);
    sett_grid(b, BLOCKS), sett_block(b, THREADS);
    sett_tensor *bins = sett_make_smem_tensor(b, SETT_I32, BINS, 16, .name = "bins");
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, BINS))
        sett_set(bins, 0, t); /* @1 write */
    sett_sync_threads(b);
    sett_atomic_add(bins, 1, sett_add(sett_at(X, sett_block_idx(b, 0), t), 4)); /* @1 atomic */
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_reduce(SETT_ADD, bins, H); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, BLOCKS, THREADS), h = bug_full(0, SETT_I32, BINS);
    bug_launch(kernel, &x, &h);
    double want[BINS] = {0};
    for (int i = 0; i < BLOCKS * THREADS; i++)
        want[(int)bug_get(&x, i) + 4]++;
    for (int i = 0; i < BINS; i++)
        bug_expect(&h, i, want[i]);
    return bug_close();
}
