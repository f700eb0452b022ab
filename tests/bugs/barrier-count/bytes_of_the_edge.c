/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count
 * missing: a box at the edge is filled with zeros and counts whole; fewer bytes are expected than come
 * fix: sett_tma_bytes(map) for every box
 * The author subtracts the rows past the end of the tensor, which TMA "does not load". It writes zeros for them, and they count. Only
 * inputs whose rows are no multiple of the tile are wrong. */
#include "bug.h"

enum { ROWS = 4, N = 32, M = 10 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N));
    sett_grid(b, sett_ceil_div(M, ROWS)), sett_block(b, ROWS * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(X, .smem = s, .tile = T(ROWS, N));
    sett_val *tile = sett_block_idx(b, 0), *row = sett_warp_idx(b), *lane = sett_lane_idx(b), *at = sett_add(sett_mul(tile, ROWS), row);
    sett_val *rows = bug_twin ? sett_const(b, SETT_I32, ROWS) : sett_min(sett_sub(M, sett_mul(tile, ROWS)), ROWS);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_mul(rows, N * 4)); /* @1 arrive */
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(row, 0))
        sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(tile, 0)), s, full); /* @2 copy */
    sett_mbarrier_wait(full, 0);
    sett_if (b, sett_lt(at, M))
        sett_set(Y, sett_at(s, row, lane), at, lane);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, N), y = bug_out(SETT_F32, M, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < M * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
