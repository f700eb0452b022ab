/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the fence is of shared memory, and what TMA reads back lies in global memory
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL), or SETT_PROXY_ASYNC of both
 * A block writes a workspace by plain stores and then loads boxes of it by TMA. It has a fence, of the wrong memory. An H200 gives old
 * values when the line is still in L1. */
#include "bug.h"

enum { ROWS = 8, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, 1), sett_block(b, ROWS * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(W, .smem = s, .tile = T(ROWS, N));
    sett_val *row = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(map));
    }
    sett_set(W, sett_add(sett_at(X, row, lane), 1), sett_sub(ROWS - 1, row), lane); /* @1 write */
    sett_fence_proxy(b, bug_twin ? SETT_PROXY_ASYNC_GLOBAL : SETT_PROXY_ASYNC_SHARED); /* @fence */
    sett_sync_threads(b);
    sett_if (b, sett_eq(row, 0))
        sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(0, 0)), s, full); /* @2 copy */
    sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_at(s, row, lane), row, lane);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N), w = bug_full(0, SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y, &w);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, 1 + bug_get(&x, (ROWS - 1 - i / N) * N + i % N));
    return bug_close();
}
