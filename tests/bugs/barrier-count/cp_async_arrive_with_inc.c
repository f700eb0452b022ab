/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: without .noinc an arrival of cp.async first adds one to the phase's count, so that the phase never ends
 * fix: sett_cp_async_mbarrier_arrive_noinc, whose arrivals the count of init has
 * The mbarrier counts 32 arrivals, and each of 32 lanes arrives by sett_cp_async_mbarrier_arrive. Each takes away what it has added. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(full, N); /* @2 init */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_cp_async(sett_local_tile(X, T1(1), T1(lane)), sett_local_tile(s, T1(1), T1(lane)));
        if (bug_twin)
            sett_cp_async_mbarrier_arrive_noinc(full);
        else
            sett_cp_async_mbarrier_arrive(full); /* @2 arrive */
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0); /* @1 wait */
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
