/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | order
 * missing: the order of the warp's lanes in front of the flag: lane 0 releases, and the other lanes have stored
 * fix: sett_sync_warp(b) in front of the release
 * A block of one warp stores a row and sets a flag. A release tells of what its own thread did and knows. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N)), *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2), sett_block(b, N), sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_set(W, sett_at(X, t), t); /* @1 write */
        if (bug_twin)
            sett_sync_warp(b);
        sett_if (b, sett_eq(t, 0))
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @release */
    }
    sett_else (b) {
        sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0)) {}
        sett_set(Y, sett_at(W, sett_sub(N - 1, t)), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &w, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
