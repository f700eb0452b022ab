/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race
 * missing: a count of both arrivals: a thread arrives for two, at an mbarrier of one
 * fix: sett_mbarrier_init(bar, 2)
 * .count = 2 says that a thread arrives twice at once. The phase has room for one. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(bar, bug_twin ? 2 : 1); /* @2 init */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_set(s, sett_at(X, lane), lane);
        sett_sync_warp(b);
        sett_mbarrier_arrive(bar, .count = 2, .pred = sett_eq(lane, 0)); /* @1 arrive */
    }
    sett_else (b) {
        sett_mbarrier_wait(bar, 0);
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
