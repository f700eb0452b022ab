/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: warp 1 arrives at the mbarrier without having met the thread that makes it
 * fix: sett_sync_threads(b) between the init and the first use by others
 * Warp 0 makes an mbarrier and waits there, warp 1 writes and arrives. If warp 1 is first it arrives at whatever lies in shared memory. An
 * H200 is right while warp 0 is the first to run. */
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
        sett_mbarrier_init(full, N); /* @1 init */
    if (bug_twin)
        sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_set(s, sett_at(X, lane), lane);
        sett_mbarrier_arrive(full); /* @2 arrive */
    }
    sett_else (b) {
        sett_sync_warp(b);
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_mul(sett_at(s, lane), 3), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 3 * bug_get(&x, i));
    return bug_close();
}
