/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: warp 0 stores the halves of both groups behind a barrier of its own group alone
 * fix: sett_barrier(b, 1, 256) of both groups
 * Two groups of 128 threads write a half each of a tile, and one warp stores the whole tile by TMA. The named barrier has 128 threads,
 * as it had when there was one group; each group has its own. */
#include "bug.h"

enum { ROWS = 16, COLUMNS = 32, THREADS = 256 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, COLUMNS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, COLUMNS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, COLUMNS), 128, .name = "out");
    sett_tma *map = sett_make_tma(Y, .smem = out, .tile = T(ROWS, COLUMNS));
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, 128), *row = sett_warp_idx(b), *lane = sett_lane_idx(b);
    for (int i = 0; i < ROWS; i += THREADS / 32) {
        sett_val *at = sett_add(sett_add(sett_mul(group, ROWS / 2), sett_mod(row, 4)), i / 2);
        sett_set(out, sett_mul(sett_at(X, at, lane), 2), at, lane); /* @1 write */
    }
    sett_fence_view_async_shared(b);
    if (bug_twin)
        sett_barrier(b, 1, THREADS);
    else
        sett_barrier(b, sett_add(group, 1), THREADS / 2); /* @barrier */
    sett_if (b, sett_eq(row, 0)) {
        sett_tma_store(map, out, sett_local_tile(sett_tma_tensor(map), T(ROWS, COLUMNS), T(0, 0))); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, COLUMNS), y = bug_out(SETT_F32, ROWS, COLUMNS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
