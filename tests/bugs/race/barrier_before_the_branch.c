/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the store and the load of a round: it was moved before the branch that has both
 * fix: the branch around each access, and the barrier between them
 * public: TileLang #2612
 * Threads whose mask is set pass numbers along in each round. A barrier may not stand in their branch, so it was moved in front of it,
 * where it orders a round and the next, and not the store and the load inside. An H200 gives wrong numbers. */
#include "bug.h"

enum { N = 64, ROUNDS = 3 };

static void pass(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *M = sett_param(b, "M", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16), *x = sett_var(b, SETT_F32, 0.0);
    sett_val *t = sett_thread_idx(b, 0), *mine = sett_ne(sett_at(M, t), 0);
    sett_set(x, sett_at(X, t), 0);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_sync_threads(b); /* @barrier */
        sett_if (b, mine)
            sett_set(S, sett_at(x, 0), t); /* @1 write */
        if (bug_twin)
            sett_sync_threads(b);
        sett_if (b, mine)
            sett_set(x, sett_at(S, sett_xor(t, N / 2 + 1)), 0); /* @2 read */
    }
    sett_set(Y, sett_at(x, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), m = bug_full(1, SETT_I32, N), y = bug_out(SETT_F32, N);
    bug_launch(pass, &x, &m, &y);
    for (int i = 0; i < N; i++) /* an odd number of exchanges is one */
        bug_expect(&y, i, bug_get(&x, i ^ (N / 2 + 1)));
    return bug_close();
}
