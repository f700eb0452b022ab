/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the two groups: each waits for its own threads, and reads what the other one stored
 * fix: sett_sync_threads(b), or sett_barrier(b, 3, 128), in place of the groups' own barriers
 * Two groups of 64 threads have a named barrier each. They exchange halves of a row by shared memory, but wait at their own barrier,
 * which says nothing of the other group's stores. An H200 gives old contents when one group starts late. */
#include "bug.h"

enum { N = 128, GROUP = 64 };

static void exchange(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, GROUP);
    sett_set(S, sett_at(X, t), t); /* @1 write */
    if (bug_twin)
        sett_barrier(b, 3, N);
    else
        sett_barrier(b, sett_add(group, 1), GROUP); /* @barrier */
    sett_set(Y, sett_at(S, sett_xor(t, GROUP)), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(exchange, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ GROUP));
    return bug_close();
}
