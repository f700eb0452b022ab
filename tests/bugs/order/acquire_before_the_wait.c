/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: the fence between the loop that waits and the loads: it stands in front of the loop
 * fix: sett_fence_acq_rel_gpu(b) behind the loop
 * The block that waits has a fence and relaxed polls, in the wrong order: first the fence, then the loop. An H200 gives right numbers
 * on most days. */
#include "bug.h"

enum { N = 32 };

static void pass_on(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N));
    sett_tensor *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 1)) {
        sett_set(D, sett_sub(sett_at(X, t), 1), t); /* @1 write */
        sett_sync_threads(b);
        sett_fence_acq_rel_gpu(b);
        sett_if (b, first)
            sett_atomic_exch(F, 1, 0);
    }
    sett_else (b) {
        if (!bug_twin)
            sett_fence_acq_rel_gpu(b); /* @fence */
        sett_if (b, first)
            sett_while (b, sett_eq(sett_atomic_add(F, 0, 0), 0)) /* @wait */
                ;
        if (bug_twin)
            sett_fence_acq_rel_gpu(b);
        sett_sync_threads(b);
        sett_set(Y, sett_at(D, t), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), d = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(pass_on, &x, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) - 1);
    return bug_close();
}
