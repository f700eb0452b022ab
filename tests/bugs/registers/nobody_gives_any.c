/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers | deadlock
 * missing: the producer group keeps its registers where its tile is empty, and the others wait for them
 * fix: sett_setmaxregister_decrease in front of the branch
 * The decrease stands inside of the branch that has work for the producer. A block without tiles never comes there, and its consumers
 * wait for registers that nobody gives. */
#include "bug.h"

enum { THREADS = 256, BLOCKS = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, THREADS));
    sett_grid(b, BLOCKS), sett_block(b, THREADS), sett_max_registers(b, 128);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *x = sett_at(X, m, t);
    sett_if (b, sett_lt(t, 128)) {
        if (bug_twin)
            sett_setmaxregister_decrease(b, 40);
        sett_if (b, sett_gt(m, 0)) {
            if (!bug_twin)
                sett_setmaxregister_decrease(b, 40); /* @2 release */
            sett_set(Y, x, m, t);
        }
    }
    sett_else (b) {
        sett_setmaxregister_increase(b, 216); /* @1 wait */
        sett_set(Y, sett_mul(x, 3), m, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, THREADS), y = bug_full(7, SETT_F32, BLOCKS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        bug_expect(&y, i, i % THREADS >= 128 ? 3 * bug_get(&x, i) : i < THREADS ? 7 : bug_get(&x, i));
    return bug_close();
}
