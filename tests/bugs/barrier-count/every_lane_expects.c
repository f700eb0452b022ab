/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count
 * missing: all 32 lanes arrive and expect, at an mbarrier of one arrival
 * fix: .pred = sett_elect_one(b)
 * The copy elects a lane by itself, and the expectation does not. 32 times the bytes are announced, and phases end by arrivals nobody
 * counted on. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(full, 1); /* @2 init */
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = bug_twin ? sett_elect_one(b) : sett_ge(lane, 0)); /* @1 arrive */
        sett_bulk_load(X, s, full);
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_at(s, lane), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
