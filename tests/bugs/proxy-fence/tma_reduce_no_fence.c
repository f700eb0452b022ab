/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the second half of the partial sums is stored behind the fence of the round
 * fix: sett_fence_view_async_shared(b) behind the last store of the round, not behind the first
 * A thread stores two values a round, and the fence stands between the two. The half that is stored first is right. */
#include "bug.h"

enum { N = 64, ROUNDS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, N), .align = 16);
    sett_grid(b, 1), sett_block(b, N / 2);
    sett_tensor *part = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 1, N), 128, .name = "part");
    sett_tma *map = sett_make_tma(Y, .smem = part, .tile = T(1, N));
    sett_val *t = sett_thread_idx(b, 0), *second = sett_add(t, N / 2);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_set(part, sett_at(X, k, t), 0, t);
        if (!bug_twin)
            sett_fence_view_async_shared(b); /* @fence */
        sett_set(part, sett_at(X, k, second), 0, second); /* @1 write */
        if (bug_twin)
            sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_tma_reduce(map, SETT_ADD, part, sett_local_tile(sett_tma_tensor(map), T(1, N), T(0, 0))); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait_read(b, 0);
        sett_sync_threads(b);
    }
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, N), y = bug_full(1, SETT_F32, 1, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 1;
        for (int k = 0; k < ROUNDS; k++)
            sum += bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
