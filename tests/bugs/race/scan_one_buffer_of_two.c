/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the second buffer: a round stores where it loads
 * fix: store to the other buffer, 1 - now
 * A running sum between two buffers needs one barrier a round, since a round loads from one and stores to the other. The index of the
 * store does not change sides, so that the barrier is one too few. An H200 is wrong at the borders of warps, now and then. */
#include "bug.h"

enum { N = 128 };

static void scan(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T(N, 2)), 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_I32, 0);
    int now = 0;
    sett_set(S, sett_at(X, t), t, now);
    sett_sync_threads(b);
    for (int d = 1; d < N; d *= 2) {
        const int next = bug_twin ? 1 - now : now;
        sett_set(sum, sett_at(S, t, now), 0);
        sett_if (b, sett_ge(t, d))
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(S, sett_sub(t, d), now)), 0); /* @2 read */
        sett_set(S, sett_at(sum, 0), t, next); /* @1 write */
        now = next;
        sett_sync_threads(b);
    }
    sett_set(Y, sett_at(S, t, now), t);
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
