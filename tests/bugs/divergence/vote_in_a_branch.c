/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the lanes whose number is 0 or less: a ballot of the whole warp stands in the branch of the others
 * fix: the ballot before the branch
 * Lanes with positive numbers count themselves by a ballot inside of their branch, which names all lanes. An H200 hangs, or gives the
 * ballot of those who came. */
#include "bug.h"

enum { N = 32 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *mine = sett_gt(sett_at(X, t), 0), *votes = NULL;
    sett_tensor *place = sett_var(b, SETT_I32, -1);
    if (bug_twin)
        votes = sett_vote_ballot_sync(mine);
    sett_if (b, mine) {
        if (!bug_twin)
            votes = sett_vote_ballot_sync(mine); /* @1 use */
        sett_set(place, sett_to(sett_popc(sett_and(votes, sett_lanemask_lt(b))), SETT_I32), 0);
    }
    sett_set(Y, sett_at(place, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(count, &x, &y);
    for (int i = 0, n = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) > 0 ? n++ : -1);
    return bug_close();
}
