/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of a round's bins and the zeros of the next round
 * fix: sett_sync_threads(b) behind the loads
 * public: flashinfer #3529
 * A radix search: each round counts digits in bins, all threads load the bins to choose a digit, and the next round begins by zeroing
 * them. A warp that is ahead zeroes what another one has yet to load. An H200 goes on with another digit now and then. */
#include "bug.h"

enum { ROUNDS = 3, N = 64, BINS = 16 };

/* Y[r] = how many of X[r] are positive, by every thread. */
static void rounds(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, ROUNDS, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, ROUNDS, N));
    sett_block(b, N);
    sett_tensor *H = sett_make_smem_tensor(b, SETT_I32, BINS, 16, .name = "bins");
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_if (b, sett_lt(t, BINS))
            sett_set(H, 0, t); /* @1 write */
        sett_sync_threads(b);
        sett_atomic_add(H, 1, sett_add(sett_at(X, r, t), 4));
        sett_sync_threads(b);
        sett_val *bins = sett_load(H); /* @2 read */
        sett_val *positive = sett_const(b, SETT_I32, 0);
        for (int i = 5; i < 9; i++)
            positive = sett_add(positive, sett_element(bins, i));
        sett_set(Y, positive, r, t);
        if (bug_twin)
            sett_sync_threads(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, ROUNDS, N), y = bug_out(SETT_I32, ROUNDS, N);
    bug_launch(rounds, &x, &y);
    for (int r = 0; r < ROUNDS; r++) {
        int positive = 0;
        for (int i = 0; i < N; i++)
            positive += bug_get(&x, r * N + i) > 0;
        for (int i = 0; i < N; i++)
            bug_expect(&y, r * N + i, positive);
    }
    return bug_close();
}
