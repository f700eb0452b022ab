/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a plain arrival does not wait for the thread's copies
 * fix: sett_cp_async_mbarrier_arrive_noinc in place of sett_mbarrier_arrive
 * A warp copies by cp.async and tells a second warp by an mbarrier. The arrival is performed at once, with the copies still under way.
 * An H200 reads old contents now and then. */
#include "bug.h"

enum { N = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 1, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, N), .align = 16);
    sett_grid(b, 1), sett_block(b, 64);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(full, 32);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_cp_async(sett_local_tile(sett_slice(X, 0, ALL), T1(4), T1(lane)), sett_local_tile(s, T1(4), T1(lane))); /* @1 copy */
        if (bug_twin)
            sett_cp_async_mbarrier_arrive_noinc(full);
        else
            sett_mbarrier_arrive(full); /* @arrive */
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0); /* @wait */
        sett_copy(sett_local_tile(s, T1(4), T1(lane)), sett_local_tile(sett_slice(Y, 0, ALL), T1(4), T1(lane))); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 1, N), y = bug_out(SETT_F32, 1, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
