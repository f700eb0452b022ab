/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release where the lock is given back: the store inside may be seen after the lock is free
 * fix: SETT_SEM_RELEASE at the exchange
 * The lock is taken with acquire and given back by a relaxed exchange, "which is a store anyway". The next block may read the number
 * before this one's store arrives. An H200 gives right numbers on most days. */
#include "bug.h"

enum { BLOCKS = 4 };

static void add_up(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 1));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, 32);
    sett_cooperative(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_while (b, sett_ne(sett_atomic_cas_ordered(L, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 1, 0), 0)) /* @wait */
            ;
        sett_val *most = sett_max(sett_at(Y, 0), sett_at(X, sett_block_idx(b, 0))); /* @2 read */
        sett_set(Y, most, 0); /* @1 write */
        sett_atomic_ordered(L, SETT_ATOMIC_EXCH, bug_twin ? SETT_SEM_RELEASE : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 0, 0); /* @release */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS), l = bug_full(0, SETT_I32, 1), y = bug_full(-100, SETT_F32, 1);
    bug_launch(add_up, &x, &l, &y);
    bug_expect(&y, 0, fmax(fmax(bug_get(&x, 0), bug_get(&x, 1)), fmax(bug_get(&x, 2), bug_get(&x, 3))));
    return bug_close();
}
