/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a second barrier in each step: between the loads of neighbours and the stores of the new numbers
 * fix: sett_sync_threads(b) between them
 * A row of numbers takes steps in shared memory, in place. The barrier at the end of a step lets all load what the step before has
 * stored; nothing keeps a warp from storing while its neighbour still loads. An H200 is wrong at the borders of warps. */
#include "bug.h"

enum { N = 96, STEPS = 3 };

static void steps(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    sett_sync_threads(b);
    sett_for (b, step, 0, STEPS, 1) {
        sett_val *left = sett_at(S, sett_mod(sett_add(t, N - 1), N)), *right = sett_at(S, sett_mod(sett_add(t, 1), N)); /* @2 read */
        sett_val *next = sett_sub(sett_add(left, right), sett_at(S, t));
        if (bug_twin)
            sett_sync_threads(b);
        sett_set(S, next, t); /* @1 write */
        sett_sync_threads(b);
    }
    sett_set(Y, sett_at(S, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(steps, &x, &y);
    double s[2][N];
    for (int i = 0; i < N; i++)
        s[0][i] = bug_get(&x, i);
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < N; i++)
            s[1 - k % 2][i] = s[k % 2][(i + N - 1) % N] + s[k % 2][(i + 1) % N] - s[k % 2][i];
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, s[STEPS % 2][i]);
    return bug_close();
}
