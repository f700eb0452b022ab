/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the promise that later blocks run: a block waits for the one behind it, which may not have begun
 * fix: sett_cooperative(b), or a chain from block 0 on
 * A running sum from the end: each block waits for the block with the next number. Blocks begin in the order of their numbers, as a
 * rule, so that those that run wait for those that do not. An H200 hangs once the grid is larger than it holds; this one fits. */
#include "bug.h"

enum { BLOCKS = 4 };

static void scan(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, BLOCKS)), *S = sett_param(b, "S", SETT_I32, sett_row_major(b, BLOCKS + 1));
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, BLOCKS + 1));
    sett_grid(b, BLOCKS);
    sett_block(b, 32);
    if (bug_twin)
        sett_cooperative(b);
    sett_val *k = sett_block_idx(b, 0), *next = sett_add(k, 1);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_tensor *sum = sett_var(b, SETT_I32, sett_at(X, k));
        sett_if (b, sett_lt(next, BLOCKS)) {
            sett_while (b, sett_eq(sett_atomic_ordered(S, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, next), 0)) /* @1 wait */
                ;
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(Y, next)), 0);
        }
        sett_set(Y, sett_at(sum, 0), k);
        sett_atomic_ordered(S, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, k); /* @release */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, BLOCKS), s = bug_full(0, SETT_I32, BLOCKS + 1), y = bug_out(SETT_I32, BLOCKS + 1);
    bug_launch(scan, &x, &s, &y);
    double sum = 0;
    for (int i = BLOCKS - 1; i >= 0; i--)
        bug_expect(&y, i, sum += bug_get(&x, i));
    return bug_close();
}
