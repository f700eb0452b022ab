/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race
 * missing: the arrival ends the phase before the bytes are expected, so that nobody waits for them
 * fix: sett_mbarrier_arrive_and_expect_tx, or the expectation in front of the arrival
 * Arrival and expectation changed places. Phase 0 ends with no byte there; the bytes are of phase 1. On an H200 the readers see old
 * contents. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        if (bug_twin)
            sett_mbarrier_expect_tx(full, N * 4);
        sett_mbarrier_arrive(full); /* @1 arrive */
        if (!bug_twin)
            sett_mbarrier_expect_tx(full, N * 4); /* @1 arrive */
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(X, s, full); /* @1 copy */
    sett_mbarrier_wait(full, 0); /* @wait */
    sett_set(Y, sett_at(s, t), t); /* @2 read */
    if (!bug_twin) { /* so that the copy does not outlive the block */
        sett_sync_threads(b);
        sett_if (b, sett_eq(t, 0))
            sett_mbarrier_arrive(full);
        sett_mbarrier_wait(full, 1);
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
