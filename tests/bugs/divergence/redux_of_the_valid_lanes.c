/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the lanes past the end at redux.sync
 * fix: lanes past the end bring the neutral element
 * One instruction reduces integers over the warp. It stands in the branch of lanes inside of the row. An H200 hangs or reduces what
 * registers of the others hold. */
#include "bug.h"

enum { M = 20 };

static void most(sett_build *b, const void *user)
{
    (void)user;
    sett_val *rows = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, rows)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, rows));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *in = sett_lt(t, rows), *all = NULL;
    if (bug_twin)
        all = sett_warp_redux_sync(sett_load(sett_slice(X, t), .pred = in, .fill = -1000), SETT_MAX);
    sett_if (b, in) {
        if (!bug_twin)
            all = sett_warp_redux_sync(sett_at(X, t), SETT_MAX); /* @1 use */
        sett_set(Y, all, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, M), y = bug_out(SETT_I32, M);
    bug_launch(most, &x, &y);
    double best = -1000;
    for (int i = 0; i < M; i++)
        best = fmax(best, bug_get(&x, i));
    for (int i = 0; i < M; i++)
        bug_expect(&y, i, best);
    return bug_close();
}
