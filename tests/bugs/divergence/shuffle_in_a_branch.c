/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the lanes that are not in the branch: a shuffle of the whole warp stands under a condition of lanes
 * fix: the shuffle before the branch
 * Lanes below 16 add their neighbour's number, by a shuffle inside of the branch whose mask names all 32 lanes. The others never
 * execute it. An H200 hangs or gives what a register held. */
#include "bug.h"

enum { N = 32 };

static void pairs(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N / 2));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t), *up = NULL;
    if (bug_twin)
        up = sett_shuffle_sync_down(x, 16, 32);
    sett_if (b, sett_lt(t, N / 2)) {
        if (!bug_twin)
            up = sett_shuffle_sync_down(x, 16, 32); /* @1 use */
        sett_set(Y, sett_add(x, up), t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N / 2);
    bug_launch(pairs, &x, &y);
    for (int i = 0; i < N / 2; i++)
        bug_expect(&y, i, bug_get(&x, i) + bug_get(&x, i + N / 2));
    return bug_close();
}
