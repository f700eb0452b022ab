/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of what the block's other threads stored and the arrival of thread 0
 * fix: sett_sync_threads(b) before the arrival
 * A barrier of the grid is a barrier of the block, an atomic by one thread, and a barrier of the block. The first was left out. */
#include "bug.h"

enum { BLOCKS = 8, N = 32 };

static void phases(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N), sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0);
    sett_set(D, sett_add(sett_at(X, block, t), 1), block, t); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @atomic */
        sett_while (b, sett_lt(sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), BLOCKS)) /* @atomic */
            ;
    }
    sett_sync_threads(b);
    sett_set(Y, sett_at(D, sett_mod(sett_add(block, 3), BLOCKS), t), block, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), d = bug_out(SETT_F32, BLOCKS, N), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(phases, &x, &d, &c, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + 3 * N) % (BLOCKS * N)) + 1);
    return bug_close();
}
