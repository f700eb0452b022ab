/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: each of 32 lanes arrives for 32
 * fix: .count = 32 by one lane, or an arrival of 1 by each
 * An arrival of a warp "at once" by .count, executed by all of its lanes: 1024 arrivals at a phase that waits for 64. */
#include "bug.h"

enum { THREADS = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s"), *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(bar, THREADS); /* @2 init */
    sett_sync_threads(b);
    sett_set(s, sett_at(X, t), t);
    sett_sync_warp(b);
    sett_mbarrier_arrive(bar, .count = 32, .pred = bug_twin ? sett_eq(sett_lane_idx(b), 0) : sett_ge(t, 0)); /* @1 arrive */
    sett_mbarrier_wait(bar, 0); /* @1 wait */
    sett_set(Y, sett_at(s, sett_sub(THREADS - 1, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS), y = bug_out(SETT_F32, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, bug_get(&x, THREADS - 1 - i));
    return bug_close();
}
