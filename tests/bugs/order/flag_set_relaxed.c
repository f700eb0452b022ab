/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release at the store of the flag: the row and the flag may be seen in the other order
 * fix: SETT_SEM_RELEASE at the exchange, or sett_fence_acq_rel_gpu(b) before it
 * public: nvFuser #2391
 * Block 0 stores a row, its threads meet, and thread 0 sets a flag by a relaxed atomic. Block 1 acquires the flag; nothing was
 * released there. An H200 gives right numbers on most days. */
#include "bug.h"

enum { N = 64 };

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
        sett_sync_threads(b);
        sett_if (b, first)
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, bug_twin ? SETT_SEM_RELEASE : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 0); /* @release */
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
