/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release between a tile's sum and its state, which are two words
 * fix: SETT_SEM_RELEASE at the store of the state
 * A scan by one pass: each block waits for the state of the tile before it, reads that tile's running sum, and publishes its own. Sum
 * and state are two words, and the state is stored relaxed. An H200 gives right numbers on most days. */
#include "bug.h"

enum { BLOCKS = 4 };

static void scan(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, BLOCKS)), *V = sett_param(b, "V", SETT_I32, sett_row_major(b, BLOCKS));
    sett_tensor *S = sett_param(b, "S", SETT_I32, sett_row_major(b, BLOCKS)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, BLOCKS));
    sett_grid(b, BLOCKS);
    sett_block(b, 32);
    sett_cooperative(b);
    sett_val *k = sett_block_idx(b, 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_tensor *sum = sett_var(b, SETT_I32, 0);
        sett_if (b, sett_gt(k, 0)) {
            sett_val *before = sett_sub(k, 1);
            sett_while (b, sett_eq(sett_atomic_ordered(S, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, before), 0)) /* @wait */
                ;
            sett_set(sum, sett_at(V, before), 0); /* @2 read */
        }
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(X, k)), 0);
        sett_set(V, sett_at(sum, 0), k); /* @1 write */
        sett_atomic_ordered(S, SETT_ATOMIC_EXCH, bug_twin ? SETT_SEM_RELEASE : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, k); /* @release */
        sett_set(Y, sett_at(sum, 0), k);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, BLOCKS), v = bug_out(SETT_I32, BLOCKS), s = bug_full(0, SETT_I32, BLOCKS), y = bug_out(SETT_I32, BLOCKS);
    bug_launch(scan, &x, &v, &s, &y);
    double sum = 0;
    for (int i = 0; i < BLOCKS; i++)
        bug_expect(&y, i, sum += bug_get(&x, i));
    return bug_close();
}
