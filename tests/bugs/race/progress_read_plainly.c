/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a strong load: a word that blocks add to by atomics is read by a plain load
 * fix: sett_atomic_add(C, 0, 0) in place of the load
 * Blocks count their work in a word of global memory; each reads it, to print how far all are, by a plain load. A weak load beside an
 * atomic of another block is a data race. An H200 gives an old count out of L1; the numbers that matter are right. */
#include "bug.h"

enum { BLOCKS = 4 };

static void work(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS)), *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1));
    sett_tensor *P = sett_param(b, "P", SETT_I32, sett_row_major(b, BLOCKS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS));
    sett_grid(b, BLOCKS);
    sett_block(b, 32);
    sett_val *k = sett_block_idx(b, 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_set(Y, sett_mul(sett_at(X, k), 2), k);
        sett_atomic_add(C, 1, 0); /* @1 atomic */
        sett_set(P, bug_twin ? sett_atomic_add(C, 0, 0) : sett_at(C, 0), k); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS), c = bug_full(0, SETT_I32, 1), p = bug_out(SETT_I32, BLOCKS), y = bug_out(SETT_F32, BLOCKS);
    bug_launch(work, &x, &c, &p, &y);
    for (int i = 0; i < BLOCKS; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    bug_expect(&c, 0, BLOCKS);
    return bug_close();
}
