/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: the barrier in the lanes whose row is past the end
 * fix: the test around the accesses alone
 * public: TileLang #1026
 * A thread has a row; those past the end skip the body, the barrier in it too. Lanes of one warp part: some are at the barrier, the
 * others have ended. An H200 goes on by chance. */
#include "bug.h"

enum { M = 50, N = 64 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_val *rows = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, rows)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, rows));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *in = sett_lt(t, rows);
    if (bug_twin) {
        sett_if (b, in)
            sett_set(S, sett_at(X, t), t);
        sett_sync_threads(b);
        sett_if (b, in)
            sett_set(Y, sett_at(S, sett_sub(sett_sub(rows, 1), t)), t);
    } else {
        sett_if (b, in) {
            sett_set(S, sett_at(X, t), t);
            sett_sync_threads(b); /* @1 barrier */
            sett_set(Y, sett_at(S, sett_sub(sett_sub(rows, 1), t)), t);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M), y = bug_out(SETT_F32, M);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < M; i++)
        bug_expect(&y, i, bug_get(&x, M - 1 - i));
    return bug_close();
}
