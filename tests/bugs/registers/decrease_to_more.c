/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers
 * missing: a number that is less: the group has 168 registers and gives itself 200 by a decrease
 * fix: sett_setmaxregister_increase(b, 200), where there are so many
 * Two lines changed places: the group that computes decreases to what it should increase to. */
#include "bug.h"

enum { THREADS = 384 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_block(b, THREADS), sett_min_blocks(b, 1);
    sett_val *t = sett_thread_idx(b, 0);
    if (bug_twin)
        sett_setmaxregister_decrease(b, 160);
    else
        sett_setmaxregister_decrease(b, 200); /* @1 release */
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
