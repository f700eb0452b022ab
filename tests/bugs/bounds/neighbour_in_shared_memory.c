/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a clamp of the last thread's right neighbour: it reads the first word of the array behind
 * fix: sett_min(sett_add(t, 1), N - 1)
 * A three-point sum in shared memory. The last thread's right neighbour is element N, the first word of the next array of the block.
 * An H200 reads it, and gives one wrong number. */
#include "bug.h"

enum { N = 64 };

static void smooth(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "row"), *F = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "factors");
    sett_val *t = sett_thread_idx(b, 0), *right = sett_add(t, 1);
    sett_set(S, sett_at(X, t), t);
    sett_set(F, 2, t);
    sett_sync_threads(b);
    sett_val *sum = sett_add(sett_at(S, sett_max(sett_sub(t, 1), 0)), sett_at(S, bug_twin ? sett_min(right, N - 1) : right)); /* @1 read */
    sett_set(Y, sett_mul(sum, sett_at(F, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(smooth, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * (bug_get(&x, i ? i - 1 : 0) + bug_get(&x, i < N - 1 ? i + 1 : i)));
    return bug_close();
}
