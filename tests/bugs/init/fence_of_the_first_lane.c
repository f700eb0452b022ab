/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: a fence of each lane that makes an mbarrier: lane 0 fences for the four of them
 * fix: sett_fence_mbarrier_init(b) in the branch of the lanes that make them
 * Each of four lanes makes one mbarrier of the ring. The fence that shows them to copies is of the thread that has made them. */
#include "bug.h"

enum { N = 32, STAGES = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, STAGES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, STAGES, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "s"), *full = sett_make_mbarriers(b, STAGES);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, STAGES)) {
        sett_mbarrier_init(sett_slice(full, t), 1); /* @1 init */
        if (bug_twin)
            sett_fence_mbarrier_init(b);
    }
    if (!bug_twin)
        sett_if (b, sett_eq(t, 0))
            sett_fence_mbarrier_init(b); /* @fence */
    sett_sync_warp(b);
    sett_for (b, k, 0, STAGES, 1) {
        sett_mbarrier_arrive_and_expect_tx(sett_slice(full, k), N * 4, .pred = sett_elect_one(b));
        sett_bulk_load(sett_slice(X, k, ALL), sett_slice(s, ALL, k), sett_slice(full, k)); /* @2 copy */
    }
    sett_for (b, k, 0, STAGES, 1) {
        sett_mbarrier_wait(sett_slice(full, k), 0);
        sett_set(Y, sett_at(s, t, k), k, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, STAGES, N), y = bug_out(SETT_F32, STAGES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < STAGES * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
