/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the fence of global memory between a block's own zeros and its bulk reduction onto them
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC) behind the zeros, in front of the barrier
 * A block clears its row of sums by stores and adds to it by a bulk reduction. The fence that is there is of shared memory, for the
 * reduction's source; its destination lies in global memory. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(Y, 5, t); /* @1 write */
    sett_set(s, sett_at(X, t), t);
    if (bug_twin)
        sett_fence_proxy(b, SETT_PROXY_ASYNC);
    else
        sett_fence_view_async_shared(b); /* @fence */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_reduce(SETT_ADD, s, Y); /* @2 copy */
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
        bug_expect(&y, i, 5 + bug_get(&x, i));
    return bug_close();
}
