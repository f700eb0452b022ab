/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier before one thread releases what all threads have stored
 * fix: sett_sync_threads(b) before the flag
 * All threads of block 0 store a row; thread 0 sets the flag with release, which covers what it has stored itself, and not what the
 * other warps have. An H200 gives old numbers of warps that are late. */
#include "bug.h"

enum { N = 128 };

static void pass_on(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N));
    sett_tensor *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_set(D, sett_mul(sett_at(X, t), 2), t); /* @1 write */
        if (bug_twin)
            sett_sync_threads(b);
        sett_if (b, first)
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @release */
    }
    sett_else (b) {
        sett_if (b, first)
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0))
                ;
        sett_sync_threads(b);
        sett_set(Y, sett_at(D, t), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), d = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(pass_on, &x, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
