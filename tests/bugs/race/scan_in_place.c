/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between a round's loads and its stores, which go to the same array
 * fix: sett_sync_threads(b) between the load and the store
 * A running sum (Hillis and Steele) in one array. A round's barrier stands behind its stores; a warp that is ahead stores before the
 * next one has loaded, which then adds too much. An H200 is wrong now and then, at the borders of warps. */
#include "bug.h"

enum { N = 128 };

static void scan(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_I32, 0);
    sett_set(S, sett_at(X, t), t);
    sett_sync_threads(b);
    for (int d = 1; d < N; d *= 2) {
        sett_set(sum, sett_at(S, t), 0);
        sett_if (b, sett_ge(t, d))
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(S, sett_sub(t, d))), 0); /* @2 read */
        if (bug_twin)
            sett_sync_threads(b);
        sett_set(S, sett_at(sum, 0), t); /* @1 write */
        sett_sync_threads(b);
    }
    sett_set(Y, sett_at(S, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(scan, &x, &y);
    double sum = 0;
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, sum += bug_get(&x, i));
    return bug_close();
}
