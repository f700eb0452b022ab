/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: an arrival: the phase waits for two, and the second warp has none
 * fix: an arrival of the second warp, or a count of 1
 * A warp asks an mbarrier in a loop of its own, by try_wait, and does something in between. The phase never ends. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0), *asked = sett_var(b, SETT_I32, 0);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(full, bug_twin ? 32 : 33); /* @2 init */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_set(s, sett_at(X, lane), lane);
        sett_mbarrier_arrive(full); /* @2 arrive */
    }
    sett_else (b) {
        sett_while (b, sett_not(sett_mbarrier_try_wait(full, 0))) /* @1 wait */
            sett_set(asked, sett_add(sett_at(asked, 0), 1), 0);
        sett_set(Y, sett_at(s, sett_sub(N - 1, lane)), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
