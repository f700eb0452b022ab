/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: the fence stands in front of the second mbarrier's init and covers the first alone
 * fix: one sett_fence_mbarrier_init(b) behind all inits
 * Two mbarriers are made, one fence between them. Copies to the second one may complete before its init is seen. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 2, N), 16, .name = "s"), *bars = sett_make_mbarriers(b, 2);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_elect_one(b)) {
        sett_mbarrier_init(sett_slice(bars, 0), 1);
        if (!bug_twin)
            sett_fence_mbarrier_init(b); /* @fence */
        sett_mbarrier_init(sett_slice(bars, 1), 1); /* @1 init */
        if (bug_twin)
            sett_fence_mbarrier_init(b);
        for (int i = 0; i < 2; i++)
            sett_mbarrier_arrive_and_expect_tx(sett_slice(bars, i), N * 4);
    }
    sett_sync_warp(b);
    sett_bulk_load(sett_slice(X, 0, ALL), sett_slice(s, 0, ALL), sett_slice(bars, 0));
    sett_bulk_load(sett_slice(X, 1, ALL), sett_slice(s, 1, ALL), sett_slice(bars, 1)); /* @2 copy */
    for (int i = 0; i < 2; i++) {
        sett_mbarrier_wait(sett_slice(bars, i), 0);
        sett_set(Y, sett_at(s, i, t), i, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
