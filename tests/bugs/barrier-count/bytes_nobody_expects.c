/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock | race
 * missing: the bytes in the arrival: the phase ends by it, and the copy's bytes come to the next one
 * fix: sett_mbarrier_arrive_and_expect_tx(full, N * 4)
 * The producer arrives, as producers do that store by themselves, and then copies in bulk. The consumer goes on before anything has come. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        if (bug_twin)
            sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        else
            sett_mbarrier_arrive(full, .pred = sett_elect_one(b)); /* @1 arrive */
        sett_bulk_load(X, s, full); /* @1 copy */
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_at(s, sett_lane_idx(b)), sett_lane_idx(b)); /* @2 read */
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
