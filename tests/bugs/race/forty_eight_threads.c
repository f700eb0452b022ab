/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the barrier that a compiler left out, as 48 threads are no whole warps
 * fix: sett_sync_threads(b) of the whole block between two branches
 * public: TileLang #2556
 * Forty-eight of 64 threads store a row and load it reversed. The barrier between the two must be of the block, or of whole warps; a
 * compiler that saw 48 threads dropped it. An H200 gives wrong numbers across the border of the warps. */
#include "bug.h"

enum { N = 48 };

static void reverse(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *in = sett_lt(t, N);
    sett_if (b, in)
        sett_set(S, sett_at(X, t), t); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_if (b, in)
        sett_set(Y, sett_at(S, sett_sub(N - 1, t)), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(reverse, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
