/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers
 * missing: a number that is more: the group has 168 registers and increases to 160
 * fix: sett_setmaxregister_increase(b, 176)
 * The block became smaller, and its threads begin with more registers than the increase of the kernel's tuning asks for. */
#include "bug.h"

enum { THREADS = 384 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_block(b, THREADS), sett_min_blocks(b, 1);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, 128))
        sett_setmaxregister_decrease(b, 24);
    sett_else (b)
        sett_setmaxregister_increase(b, bug_twin ? 232 : 160); /* @1 wait */
    sett_set(Y, sett_neg(sett_at(X, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS), y = bug_out(SETT_F32, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, -bug_get(&x, i));
    return bug_close();
}
