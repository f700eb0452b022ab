/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier behind each level of the tree
 * fix: sett_sync_threads(b) at the end of each level
 * A sum of 256 numbers by a tree in shared memory. The first level is behind a barrier, those after it are not: threads of warp 0 add
 * what warps 1 to 3 have yet to add up. An H200 is right as long as the warps run in step. */
#include "bug.h"

enum { N = 256 };

static void tree(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    sett_sync_threads(b);
    for (int half = N / 2; half; half /= 2) {
        sett_if (b, sett_lt(t, half)) {
            sett_val *other = sett_at(S, sett_add(t, half)); /* @2 read */
            sett_set(S, sett_add(sett_at(S, t), other), t);  /* @1 write */
        }
        if (bug_twin)
            sett_sync_threads(b);
    }
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_at(S, 0), 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 1);
    bug_launch(tree, &x, &y);
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += bug_get(&x, i);
    bug_expect(&y, 0, sum);
    return bug_close();
}
