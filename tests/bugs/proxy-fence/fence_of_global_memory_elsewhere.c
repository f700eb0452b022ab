/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the fence of the threads that stored: the kernel's only fence of global memory is of the warp that copies, and in front of the stores
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL) behind the stores, in each thread
 * Threads leave rows in a workspace of global memory, and a bulk load brings them back turned. There is a fence, in one warp, before anything
 * was stored. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    if (!bug_twin)
        sett_if (b, sett_eq(sett_warp_idx(b), 0))
            sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL); /* @fence */
    sett_set(W, sett_at(X, sett_sub(N - 1, t)), t); /* @1 write */
    if (bug_twin)
        sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_bulk_load(W, s, full); /* @2 copy */
    }
    sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_at(s, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_out(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &w, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
