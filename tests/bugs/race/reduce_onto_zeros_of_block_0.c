/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: block 0 clears the sums, and other blocks add to them without knowing that it has
 * fix: clear them in a kernel of its own, or meet the grid between the two
 * Split-K by bulk reductions. "Block 0 begins first" holds on an H200 nearly always, and its stores are quick. */
#include "bug.h"

enum { N = 32, SPLITS = 3 };

static void clear(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_set(Y, 0.0, sett_thread_idx(b, 0));
}

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, SPLITS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_grid(b, SPLITS), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    if (!bug_twin)
        sett_if (b, sett_eq(m, 0)) {
            sett_set(Y, 0.0, t); /* @1 write */
            sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL);
        }
    sett_set(s, sett_at(X, m, t), t);
    sett_fence_view_async_shared(b);
    sett_sync_warp(b);
    sett_bulk_reduce(SETT_ADD, s, Y); /* @2 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, SPLITS, N), y = bug_full(100, SETT_F32, N);
    if (bug_twin)
        bug_launch(clear, &y);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < SPLITS; k++)
            sum += bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
