/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the fence stands before the stores that a bulk load then reads
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC) behind the stores
 * One thread prepares a row and loads it. "There is a fence in this branch" is not enough. */
#include "bug.h"

enum { N = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_elect_one(b)) {
        sett_fence_proxy(b, SETT_PROXY_ASYNC); /* @fence */
        sett_for (b, i, 0, N, 1)
            sett_set(W, sett_add(sett_at(X, i), 1), i); /* @1 write */
        if (bug_twin)
            sett_fence_proxy(b, SETT_PROXY_ASYNC);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
        sett_bulk_load(W, s, full); /* @2 copy */
    }
    sett_mbarrier_wait(full, 0);
    sett_if (b, sett_lt(t, N))
        sett_set(Y, sett_at(s, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_out(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &w, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) + 1);
    return bug_close();
}
