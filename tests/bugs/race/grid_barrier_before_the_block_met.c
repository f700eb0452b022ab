/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier before its thread 0 arrives at the grid's barrier
 * fix: sett_sync_threads(b) before the count
 * Thread 0 counts the block at the grid's barrier as soon as it gets there itself, with release; the other warps of its block may have
 * stores to do. An H200 gives old rows of slow warps. */
#include "bug.h"

enum { BLOCKS = 2, N = 96 };

static void phases(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0);
    sett_set(D, sett_add(sett_at(X, block, t), 1), block, t); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @release */
        sett_while (b, sett_lt(sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), BLOCKS))
            ;
    }
    sett_sync_threads(b);
    sett_set(Y, sett_at(D, sett_sub(BLOCKS - 1, block), t), block, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), d = bug_out(SETT_F32, BLOCKS, N), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(phases, &x, &d, &c, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (BLOCKS * N)) + 1);
    return bug_close();
}
