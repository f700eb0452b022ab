/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers | deadlock
 * missing: 2 groups of 248 registers and one of 24 are more than 3 groups began with, 168 each
 * fix: sett_setmaxregister_increase(b, 240): the sum of all groups is at most what they have at entry
 * public: CUTLASS #2007
 * The increase waits until registers are free. The last 1024 are never: one of the two groups waits for ever, on an H200 too. */
#include "bug.h"

enum { THREADS = 384 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS), sett_min_blocks(b, 1);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t);
    sett_if (b, sett_ge(t, 256)) {
        sett_setmaxregister_decrease(b, 24); /* @2 release */
        sett_set(Y, sett_neg(x), t);
    }
    sett_else (b) {
        sett_setmaxregister_increase(b, bug_twin ? 240 : 248); /* @1 wait */
        sett_set(Y, sett_add(x, x), t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS), y = bug_out(SETT_F32, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, (i < 256 ? 2 : -1) * bug_get(&x, i));
    return bug_close();
}
