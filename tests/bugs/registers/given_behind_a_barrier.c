/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers | deadlock
 * missing: the producer gives its registers behind a barrier that the consumers reach only when they have them
 * fix: sett_setmaxregister_decrease in front of the barrier
 * Consumers take registers first and then meet the producer; the producer meets them first and gives then. Each waits for the other. */
#include "bug.h"

enum { THREADS = 384 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS), sett_min_blocks(b, 1);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, sett_at(X, t), t);
    sett_if (b, sett_ge(t, 256)) {
        if (bug_twin)
            sett_setmaxregister_decrease(b, 24);
        sett_barrier(b, 1, THREADS); /* @2 barrier */
        if (!bug_twin)
            sett_setmaxregister_decrease(b, 24); /* @2 release */
    }
    sett_else (b) {
        sett_setmaxregister_increase(b, 240); /* @1 wait */
        sett_barrier(b, 1, THREADS);
    }
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
