/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the lanes that have no key at match.any, which names all lanes
 * fix: the match outside of the branch, with a key that no lane has
 * Lanes with equal keys find each other by a match, so that one of them adds for all. It stands in the branch of lanes that have a
 * key. An H200 hangs, or gives masks of those who came. */
#include "bug.h"

enum { N = 32 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t), *has = sett_ge(x, 0), *same = NULL;
    if (bug_twin)
        same = sett_match_any_sync(sett_where(has, x, -1));
    sett_if (b, has) {
        if (!bug_twin)
            same = sett_match_any_sync(x); /* @1 use */
        sett_set(Y, sett_to(sett_popc(same), SETT_I32), t);
    }
    sett_else (b)
        sett_set(Y, 0, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(count, &x, &y);
    for (int i = 0; i < N; i++) {
        int same = 0;
        for (int k = 0; k < N; k++)
            same += bug_get(&x, k) == bug_get(&x, i);
        bug_expect(&y, i, bug_get(&x, i) >= 0 ? same : 0);
    }
    return bug_close();
}
