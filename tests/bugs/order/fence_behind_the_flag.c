/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: the fence between the row and the flag: it stands behind both
 * fix: sett_fence_acq_rel_gpu(b) before the flag is set
 * The author has a fence, on the wrong side: the flag is set, then comes the fence. An H200 gives right numbers on most days. */
#include "bug.h"

enum { N = 32 };

static void pass_on(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N));
    sett_tensor *F = sett_param(b, "F", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_set(D, sett_mul(sett_at(X, t), 2), t); /* @1 write */
        if (bug_twin)
            sett_fence_acq_rel_gpu(b);
        sett_atomic_exch(F, 1, t); /* @release */
        sett_fence_acq_rel_gpu(b); /* @fence */
    }
    sett_else (b) {
        sett_tensor *left = sett_var(b, SETT_I32, 1); /* each thread has a flag of its own */
        sett_while (b, sett_ne(sett_at(left, 0), 0))
            sett_set(left, sett_sub(1, sett_atomic_add(F, 0, t)), 0);
        sett_fence_acq_rel_gpu(b);
        sett_set(Y, sett_at(D, t), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), d = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, N), y = bug_out(SETT_F32, N);
    bug_launch(pass_on, &x, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
