/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: a warp: the barrier counts four, and three of them come
 * fix: sett_barrier(b, 1, 96)
 * public: FlashMLA #57
 * The block was made smaller, from 128 threads to 96; the count of the named barrier was not. An H200 hangs. */
#include "bug.h"

enum { N = 96 };

static void reverse(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    sett_barrier(b, 1, bug_twin ? N : N + 32); /* @1 barrier */
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), t);
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
