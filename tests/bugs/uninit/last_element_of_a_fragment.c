/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: the eighth element of a fragment in registers
 * fix: a loop over all eight
 * A thread keeps eight numbers; the loop that fills the fragment ends one early. The maximum is taken over all. An H200 gives the
 * right maximum as long as the old register is small. */
#include "bug.h"

enum { THREADS = 32, EACH = 8 };

static void most(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS, EACH)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_block(b, THREADS);
    sett_tensor *mine = sett_make_rmem_tensor(b, SETT_F32, EACH); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    for (int i = 0; i < EACH - !bug_twin; i++)
        sett_set(mine, sett_mul(sett_at(X, t, i), -1), i);
    sett_val *best = sett_reduce(sett_load(mine), SETT_MAX, -1000.0); /* @1 read */
    sett_set(Y, best, t); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS, EACH), y = bug_out(SETT_F32, THREADS);
    bug_launch(most, &x, &y);
    for (int t = 0; t < THREADS; t++) {
        double best = -1000;
        for (int i = 0; i < EACH; i++)
            best = fmax(best, -bug_get(&x, t * EACH + i));
        bug_expect(&y, t, best);
    }
    return bug_close();
}
