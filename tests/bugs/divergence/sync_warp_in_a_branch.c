/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the second half of the warp at sett_sync_warp
 * fix: sett_sync_warp(b) behind the branch
 * The lanes that store a table meet in their own branch; the lanes that read it do not come, and are not made to wait. An H200 hangs
 * or is right by chance. */
#include "bug.h"

enum { N = 32 };

static void table(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N / 2)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N / 2, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, N / 2)) {
        sett_set(S, sett_mul(sett_at(X, t), 2), t);
        if (!bug_twin)
            sett_sync_warp(b); /* @1 barrier */
    }
    if (bug_twin)
        sett_sync_warp(b);
    sett_set(Y, sett_at(S, sett_floordiv(t, 2)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N / 2), y = bug_out(SETT_F32, N);
    bug_launch(table, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i / 2));
    return bug_close();
}
