/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: an id other than 0, which is that of sett_sync_threads
 * fix: ids from 1 on
 * Two groups have named barriers by their number, 0 and 1. Barrier 0 is the block's own. An H200 mixes the group's meeting with the
 * block's, and hangs or goes on too early. */
#include "bug.h"

enum { N = 128, GROUP = 64 };

static void reverse(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, GROUP);
    sett_set(S, sett_at(X, t), t);
    sett_barrier(b, bug_twin ? sett_add(group, 1) : group, GROUP); /* @1 barrier */
    sett_val *x = sett_at(S, sett_xor(t, GROUP - 1));
    sett_sync_threads(b); /* @barrier */
    sett_set(Y, sett_add(x, sett_at(S, sett_sub(N - 1, t))), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(reverse, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ (GROUP - 1)) + bug_get(&x, N - 1 - i));
    return bug_close();
}
