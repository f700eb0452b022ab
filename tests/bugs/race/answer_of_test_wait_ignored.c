/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: test_wait asks once; its answer must be looked at, and the question asked until it is yes
 * fix: sett_mbarrier_wait, or a loop around the question
 * "Wait" is in the name of the instruction, so it was taken for one. Here each thread asks twice and goes on whatever the answer is; it is
 * kept for a statistic. An H200 is right where the copy has come by then. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N)), *asked = sett_param(b, "asked", SETT_I32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(X, s, full); /* @1 copy */
    sett_val *came = sett_mbarrier_test_wait(full, 0); /* @wait */
    sett_set(asked, sett_where(came, 1, 2), t);
    if (bug_twin)
        sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_at(s, t), t); /* @2 read */
    sett_mbarrier_wait(full, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N), asked = bug_out(SETT_I32, N);
    bug_launch(kernel, &x, &y, &asked);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
