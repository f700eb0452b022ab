/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a store of the word "done" before the first round that tests it
 * fix: one thread stores 0 before the barrier
 * A block repeats its rounds until a word of shared memory says that nothing changed. The word is set at the end of a round, and
 * tested before the first one. An H200 skips all rounds where an earlier block left a 1. */
#include "bug.h"

enum { N = 32 };

static void relax(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *D = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "done"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0), *next = sett_and(sett_add(t, 1), 31);
    sett_tensor *x = sett_var(b, SETT_I32, sett_at(X, t));
    if (bug_twin)
        sett_if (b, first)
            sett_set(D, 0, 0);
    sett_sync_threads(b);
    sett_while (b, sett_eq(sett_at(D, 0), 0)) { /* @1 read */
        sett_sync_threads(b);
        sett_set(x, sett_max(sett_at(x, 0), sett_shuffle_sync(sett_at(x, 0), next, 32)), 0);
        sett_val *still = sett_vote_all_sync(sett_eq(sett_at(x, 0), sett_shuffle_sync(sett_at(x, 0), next, 32)));
        sett_if (b, first)
            sett_set(D, sett_to(still, SETT_I32), 0);
        sett_sync_threads(b);
    }
    sett_set(Y, sett_at(x, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(relax, &x, &y);
    double most = -1000;
    for (int i = 0; i < N; i++)
        most = fmax(most, bug_get(&x, i));
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, most);
    return bug_close();
}
