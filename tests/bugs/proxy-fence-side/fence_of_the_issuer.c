/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence-side
 * missing: the fence is executed by the warp that issues, behind the barrier, and not by the threads that stored
 * fix: sett_fence_view_async_shared(b) in each thread in front of the barrier
 * PTX says that a fence between proxies takes effect within one thread; NVIDIA's recipes have it in the threads that store. That a fence of
 * another thread, behind a barrier, is enough follows from nothing that is written. No H200 was seen to mind. */
#include "bug.h"

enum { THREADS = 128, ROWS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s");
    sett_tma *map = sett_make_tma(Y, .smem = s, .tile = T(ROWS, N));
    sett_val *row = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_set(s, sett_at(X, row, sett_xor(lane, 31)), row, lane); /* @1 write */
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(row, 0)) {
        if (!bug_twin)
            sett_fence_view_async_shared(b); /* @fence */
        sett_tma_store(map, s, sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(0, 0))); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 31));
    return bug_close();
}
