/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release of the turn: each block adds its part to the tile and passes the turn on by a relaxed addition
 * fix: SETT_SEM_RELEASE at the addition that passes the turn on
 * Blocks that share K take turns, so that sums have one order: block k waits until the turn is k, adds to the tile by plain accesses,
 * and makes the turn k + 1. The turn is passed on without release. An H200 loses parts on some days. */
#include "bug.h"

enum { BLOCKS = 3, N = 64 };

static void split(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *k = sett_block_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, first)
        sett_while (b, sett_ne(sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), k)) /* @wait */
            ;
    sett_sync_threads(b);
    sett_if (b, sett_eq(k, 0))
        sett_set(Y, sett_at(X, k, t), t); /* @1 write */
    sett_else (b)
        sett_set(Y, sett_add(sett_mul(sett_at(Y, t), 2), sett_at(X, k, t)), t); /* @1 write @2 read */
    sett_sync_threads(b);
    sett_if (b, first)
        sett_atomic_ordered(C, SETT_ATOMIC_ADD, bug_twin ? SETT_SEM_RELEASE : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 0); /* @release */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(split, &x, &c, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 4 * bug_get(&x, i) + 2 * bug_get(&x, N + i) + bug_get(&x, 2 * N + i));
    return bug_close();
}
