/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | proxy-fence
 * missing: the block's barrier: each thread fences, and nothing says that all of them have
 * fix: sett_sync_threads(b) behind the fence
 * The fence is there, the barrier behind it was taken for a part of it. It orders the proxies of its own thread, and meets nobody. */
#include "bug.h"

enum { N = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, sett_at(X, sett_xor(t, 1)), t); /* @1 write */
    sett_fence_view_async_shared(b); /* @fence */
    if (bug_twin)
        sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_store(s, Y); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 1));
    return bug_close();
}
