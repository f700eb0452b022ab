/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a flag of its own for each launch: the second one finds it set by the first
 * fix: the number of the launch as the flag's value
 * Block 0 waits until block 1 has set a flag. The host launches twice, and nobody takes the flag back, so that the second launch waits
 * for nothing. An H200 gives rows of the first launch. */
#include "bug.h"

enum { N = 32 };

static void pass_on(sett_build *b, const void *user)
{
    const int launch = *(const int *)user, value = bug_twin ? launch : 1;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N));
    sett_tensor *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 1)) {
        sett_set(D, sett_mul(sett_at(X, t), launch + 1), t); /* @1 write */
        sett_sync_threads(b);
        sett_if (b, first)
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, value, 0);
    }
    sett_else (b) {
        sett_if (b, first)
            sett_while (b, sett_lt(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), value)) /* @wait */
                ;
        sett_sync_threads(b);
        sett_set(Y, sett_at(D, t), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), d = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    for (int launch = 1; launch <= 2; launch++)
        bug_launch_of(pass_on, &launch, &x, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 3 * bug_get(&x, i));
    return bug_close();
}
