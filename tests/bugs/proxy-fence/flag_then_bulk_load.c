/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: release and acquire order the generic proxy; the consumer's bulk load reads global memory by the async proxy
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL) behind the stores, in front of the release
 * Block 0 makes a row in global memory and sets a flag, block 1 waits for the flag and loads the row in bulk. With a plain load it would be
 * right. On an H200 it is as good as always right too, which is why it stays. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N), .align = 16), *flag = sett_param(b, "flag", SETT_I32, sett_row_major(b, 1));
    sett_grid(b, 2), sett_block(b, N), sett_cooperative(b);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_set(W, sett_mul(sett_at(X, t), 5), t); /* @1 write */
        if (bug_twin)
            sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL);
        sett_sync_warp(b);
        sett_if (b, sett_eq(t, 0))
            sett_atomic_ordered(flag, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
    sett_else (b) {
        sett_if (b, sett_eq(t, 0)) {
            sett_mbarrier_init(full, 1);
            sett_fence_mbarrier_init(b);
            sett_mbarrier_arrive_and_expect_tx(full, N * 4);
            sett_while (b, sett_eq(sett_atomic_ordered(flag, SETT_ATOMIC_OR, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0)) {}
        }
        sett_sync_warp(b);
        sett_bulk_load(W, s, full); /* @2 copy */
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_at(s, t), t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N), w = bug_full(0, SETT_F32, N), flag = bug_full(0, SETT_I32, 1);
    bug_launch(kernel, &x, &y, &w, &flag);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 5 * bug_get(&x, i));
    return bug_close();
}
