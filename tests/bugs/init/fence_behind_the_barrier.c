/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: the fence of the thread that made the mbarrier comes behind the barrier, and nothing orders the copies of warp 1 behind it
 * fix: sett_fence_mbarrier_init(b) behind sett_mbarrier_init, before the barrier
 * All threads fence, each for what it made; the one whose fence counts is in another warp than the copies. */
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
        sett_mbarrier_init(full, 1); /* @1 init */
        if (bug_twin)
            sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_fence_mbarrier_init(b); /* @fence */
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_bulk_load(X, s, full); /* @2 copy */
    }
    sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_at(s, t), t);
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
