/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers | divergence
 * missing: the warps of a warp group execute setmaxnreg with two different counts
 * fix: one count for the whole group
 * public: TileLang #2559
 * Two warps of the producer group load and need a few more registers than the two that only wait. setmaxnreg is of the group: all four
 * warps must execute the same one. */
#include "bug.h"

enum { THREADS = 256 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS), sett_min_blocks(b, 1);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t);
    sett_if (b, sett_lt(t, 128)) {
        if (bug_twin)
            sett_setmaxregister_decrease(b, 40);
        else {
            sett_if (b, sett_lt(sett_warp_idx(b), 2))
                sett_setmaxregister_decrease(b, 40); /* @1 release */
            sett_else (b)
                sett_setmaxregister_decrease(b, 24); /* @2 release */
        }
        sett_set(Y, sett_sub(x, 1), t);
    }
    sett_else (b)
        sett_set(Y, x, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS), y = bug_out(SETT_F32, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i) - (i < 128));
    return bug_close();
}
