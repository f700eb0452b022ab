/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the last loads of Q and the zeros of the scores, which have Q's bytes
 * fix: sett_sync_threads(b) before the zeros
 * public: TileLang #2699
 * Q's tile was loaded to registers, so its memory becomes the tile of the scores, which is zeroed at once. A warp that is behind loads
 * zeros in place of Q. An H200 shows it in warps that wait for Q longest. */
#include "bug.h"

enum { N = 128, WARPS = N / 32 };

static void scores(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *Q = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "Q"), *P = sett_smem_alias(Q, SETT_F32, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(Q, sett_at(X, t), t);
    sett_sync_threads(b);
    sett_val *q = sett_at(Q, sett_sub(N - 1, t)); /* @2 read */
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(P, 0.0, t); /* @1 write */
    sett_sync_threads(b);
    sett_atomic_add(P, q, sett_mod(t, 32));
    sett_sync_threads(b);
    sett_set(Y, sett_at(P, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(scores, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int w = 0; w < WARPS && i < 32; w++)
            sum += bug_get(&x, N - 1 - (32 * w + i));
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
