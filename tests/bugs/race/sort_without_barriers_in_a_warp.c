/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: an order of the exchanges of less than 32 elements and those of 32: "inside of a warp no barrier is needed"
 * fix: sett_sync_threads(b) behind each exchange
 * A bitonic sort of 64 numbers by 64 threads. Exchanges over less than 32 elements stay in a warp, and have no barrier; the next one
 * over 32 reads what the other warp has yet to exchange, and lanes are not in step either. An H200 gives rows that are not sorted, now
 * and then. */
#include "bug.h"

enum { N = 64 };

static void sort(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    sett_sync_threads(b);
    for (int size = 2; size <= N; size *= 2)
        for (int d = size / 2; d; d /= 2) {
            sett_val *other = sett_xor(t, d), *up = sett_eq(sett_and(t, size), 0);
            sett_if (b, sett_gt(other, t)) {
                sett_val *x = sett_at(S, t), *y = sett_at(S, other), *lo = sett_min(x, y), *hi = sett_max(x, y); /* @2 read */
                sett_set(S, sett_where(up, lo, hi), t);     /* @1 write */
                sett_set(S, sett_where(up, hi, lo), other); /* @1 write */
            }
            if (bug_twin || d >= 32)
                sett_sync_threads(b);
        }
    if (!bug_twin)
        sett_sync_threads(b);
    sett_set(Y, sett_at(S, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(sort, &x, &y);
    int count[9] = {0};
    for (int i = 0; i < N; i++)
        count[(int)bug_get(&x, i) + 4]++;
    for (int i = 0, v = 0; i < N; i++) {
        while (v < 8 && !count[v])
            v++;
        bug_expect(&y, i, v - 4);
        count[v]--;
    }
    return bug_close();
}
