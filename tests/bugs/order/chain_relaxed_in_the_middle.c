/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release and acquire of the second of two hops: block 1 passes on what it was told, by relaxed atomics
 * fix: SETT_SEM_ACQ_REL at the atomic that passes it on
 * Block 0 stores a row and tells block 1, which tells block 2, which reads the row. The first hop is acquired; the second is told by a
 * relaxed atomic, so that block 2 has no order with block 0. An H200 gives right numbers on most days. */
#include "bug.h"

enum { N = 32 };

static void chain(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N));
    sett_tensor *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 2)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 3);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0), *block = sett_block_idx(b, 0);
    sett_if (b, sett_eq(block, 0)) {
        sett_set(D, sett_mul(sett_at(X, t), 2), t); /* @1 write */
        sett_sync_threads(b);
        sett_if (b, first)
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
    sett_else (b) {
        sett_val *hop = sett_sub(block, 1);
        sett_if (b, first) {
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, hop), 0)) /* @wait */
                ;
            sett_if (b, sett_eq(hop, 0))
                sett_atomic_ordered(F, SETT_ATOMIC_EXCH, bug_twin ? SETT_SEM_ACQ_REL : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 1); /* @release */
        }
        sett_sync_threads(b);
        sett_if (b, sett_eq(hop, 1))
            sett_set(Y, sett_at(D, t), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), d = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 2), y = bug_out(SETT_F32, N);
    bug_launch(chain, &x, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
