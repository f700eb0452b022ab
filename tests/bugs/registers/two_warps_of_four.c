/* SPDX-License-Identifier: Apache-2.0 */
/* kind: registers | divergence
 * missing: setmaxnreg is of all four warps of a warp group, and two of them execute it
 * fix: the decrease outside of the branch of the two warps
 * public: TileLang #2567
 * Of the producer group two warps load and two do nothing. The decrease stands where the loads are. What an H200 does then is not
 * defined; it was seen to hang. */
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
            sett_setmaxregister_decrease(b, 32);
        sett_if (b, sett_lt(sett_warp_idx(b), 2)) {
            if (!bug_twin)
                sett_setmaxregister_decrease(b, 32); /* @1 release */
            sett_set(Y, sett_sub(x, 1), t);
        }
    }
    sett_else (b)
        sett_set(Y, x, t);
    sett_if (b, sett_and(sett_ge(t, 64), sett_lt(t, 128)))
        sett_set(Y, 0.0, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS), y = bug_out(SETT_F32, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, i < 64 ? bug_get(&x, i) - 1 : i < 128 ? 0 : bug_get(&x, i));
    return bug_close();
}
