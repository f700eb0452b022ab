/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init | race
 * missing: a thread ends the mbarrier by inval while others may still wait there
 * fix: sett_sync_threads(b) behind the waits, in front of sett_mbarrier_inval
 * The memory of a phase's mbarrier is to serve the next phase with another count. Thread 0 is through its wait and ends it; a slow warp asks
 * what is no mbarrier any more. */
#include "bug.h"

enum { N = 96 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(bar, N);
    sett_sync_threads(b);
    sett_set(s, sett_at(X, t), t);
    sett_mbarrier_arrive(bar);
    sett_mbarrier_wait(bar, 0); /* @1 wait */
    if (bug_twin)
        sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_inval(bar); /* @2 init */
    sett_set(Y, sett_at(s, sett_sub(N - 1, t)), t);
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
