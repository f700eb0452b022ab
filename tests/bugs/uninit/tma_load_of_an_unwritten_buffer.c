/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a kernel or a copy that fills the workspace, which sett_alloc gave as it was
 * fix: write W before the launch
 * The workspace should have been filled by a kernel in front, which an option switched off. TMA brings what lies there. */
#include "bug.h"

enum { ROWS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(W, .smem = s, .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(map), .pred = sett_elect_one(b));
    sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(0, 0)), s, full); /* @1 copy */
    sett_mbarrier_wait(full, 0);
    for (int i = 0; i < ROWS; i++)
        sett_set(Y, sett_at(s, i, t), i, t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf w = bug_twin ? bug_in(SETT_F32, ROWS, N) : bug_out(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &w, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&w, i));
    return bug_close();
}
