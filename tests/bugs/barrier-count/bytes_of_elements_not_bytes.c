/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: the copy brings 2 bytes an element, and 4 are expected
 * fix: sett_mbarrier_arrive_and_expect_tx(full, N * 2)
 * The kernel was of f32 once. More bytes are announced than come: the wait never ends, on an H200 as here. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F16, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, bug_twin ? N * 2 : N * 4); /* @2 arrive */
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(X, s, full); /* @copy */
    sett_mbarrier_wait(full, 0); /* @1 wait */
    sett_set(Y, sett_at(s, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, N), y = bug_out(SETT_F16, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
