/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the fence of thread 0 in front of the barrier orders what thread 0 has stored, and nothing of the others
 * fix: sett_fence_view_async_shared(b) in every thread
 * The fence is put with the copy, "since one thread issues it", and in front of the barrier. There the other threads' stores are not even
 * known to thread 0. Any engine that is content with a fence of some thread misses this. */
#include "bug.h"

enum { THREADS = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 1, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, sett_add(sett_at(X, 0, t), 7), t); /* @1 write */
    sett_if (b, bug_twin ? sett_ge(t, 0) : sett_eq(t, 0))
        sett_fence_view_async_shared(b); /* @fence */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_store(s, sett_slice(Y, 0, ALL)); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 1, THREADS), y = bug_out(SETT_F32, 1, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i) + 7);
    return bug_close();
}
