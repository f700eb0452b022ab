/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the other lanes at the copy: a warp calls it, and elects the lane that issues
 * fix: sett_if (b, sett_elect_one(b)), inside of which nobody is elected again
 * Lane 0 alone comes to the copy, by a condition of its own. The election inside names all lanes of the warp. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    if (bug_twin)
        sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
            sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(X, s, full);
        }
    else
        sett_if (b, sett_eq(t, 0)) { /* @2 use */
            sett_mbarrier_arrive_and_expect_tx(full, N * 4);
            sett_bulk_load(X, s, full); /* @1 copy */
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
