/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a value of the predicate in the lanes past the end, which vote as well
 * fix: sett_var(b, SETT_I32, 0)
 * A warp counts the rows that have a number above 0. Lanes past the end have set no predicate, and take part in the ballot. */
#include "bug.h"

enum { N = 20 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, 1));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *has = bug_twin ? sett_var(b, SETT_I32, 0) : sett_make_rmem_tensor(b, SETT_I32, 1); /* @alloc */
    sett_if (b, sett_lt(t, N))
        sett_set(has, sett_to(sett_gt(sett_at(X, t), 0), SETT_I32), 0);
    sett_val *votes = sett_vote_ballot_sync(sett_ne(sett_at(has, 0), 0)); /* @1 read */
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_to(sett_popc(votes), SETT_I32), 0); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_I32, 1);
    bug_launch(kernel, &x, &y);
    int n = 0;
    for (int i = 0; i < N; i++)
        n += bug_get(&x, i) > 0;
    bug_expect(&y, 0, n);
    return bug_close();
}
