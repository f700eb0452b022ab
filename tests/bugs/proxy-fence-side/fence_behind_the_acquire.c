/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence-side | proxy-fence
 * missing: the producer block's fence: the consumer fences behind its acquire
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC) behind the stores of block 0, in front of the barrier and the flag
 * A block stores a row and sets a flag, another one waits, fences, and loads the row in bulk. The fence is of the wrong block. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N), .align = 16), *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2), sett_block(b, N), sett_cooperative(b);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_set(W, sett_at(X, sett_sub(N - 1, t)), t); /* @1 write */
        if (bug_twin)
            sett_fence_proxy(b, SETT_PROXY_ASYNC);
        sett_sync_threads(b);
        sett_if (b, sett_eq(t, 0))
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
    sett_else (b) {
        sett_if (b, sett_eq(t, 0)) {
            sett_mbarrier_init(full, 1);
            sett_fence_mbarrier_init(b);
            sett_mbarrier_arrive_and_expect_tx(full, N * 4);
        }
        sett_sync_threads(b);
        sett_if (b, sett_and(sett_eq(sett_warp_idx(b), 0), sett_elect_one(b))) {
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0)) {}
            if (!bug_twin)
                sett_fence_proxy(b, SETT_PROXY_ASYNC); /* @fence */
            sett_bulk_load(W, s, full); /* @2 copy */
        }
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_at(s, t), t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &w, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
