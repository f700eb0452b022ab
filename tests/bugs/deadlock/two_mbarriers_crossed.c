/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: each of two warps waits for the other before it gives what the other waits for
 * fix: both arrivals in front of both waits, as warp 1 has them in the right program
 * Two warps exchange rows by an mbarrier each. Warp 0 gives and takes, warp 1 takes and gives: right. Here both take first. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 2, N), 16, .name = "s"), *gave = sett_make_mbarriers(b, 2);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        for (int i = 0; i < 2; i++)
            sett_mbarrier_init(sett_slice(gave, i), N);
    sett_sync_threads(b);
    sett_set(s, sett_at(X, warp, lane), warp, lane);
    sett_if (b, sett_eq(warp, 0)) {
        if (bug_twin)
            sett_mbarrier_arrive(sett_slice(gave, 0));
        sett_mbarrier_wait(sett_slice(gave, 1), 0); /* @1 wait */
        if (!bug_twin)
            sett_mbarrier_arrive(sett_slice(gave, 0)); /* @2 arrive */
        sett_set(Y, sett_at(s, 1, lane), 0, lane);
    }
    sett_else (b) {
        sett_mbarrier_wait(sett_slice(gave, 0), 0); /* @2 wait */
        sett_mbarrier_arrive(sett_slice(gave, 1)); /* @2 arrive */
        sett_set(Y, sett_at(s, 0, lane), 1, lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (2 * N)));
    return bug_close();
}
