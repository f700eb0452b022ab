/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order | race
 * missing: scope: a lock that blocks take is taken and given back at the scope of a block
 * fix: SETT_SCOPE_GPU at both
 * Acquire and release are there, copied from a lock in shared memory. The blocks that take this one are not in each other's scope. */
#include "bug.h"

enum { BLOCKS = 3 };

static void add_up(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS), sett_block(b, 32), sett_cooperative(b);
    const sett_scope scope = bug_twin ? SETT_SCOPE_GPU : SETT_SCOPE_CTA;
    sett_val *x = sett_at(X, sett_block_idx(b, 0));
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_while (b, sett_ne(sett_atomic_cas_ordered(L, SETT_SEM_ACQUIRE, scope, 0, 1, 0), 0)) {} /* @1 wait @2 wait */
        sett_set(Y, sett_add(sett_at(Y, 0), x), 0); /* @1 write @2 read */
        sett_atomic_ordered(L, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, scope, 0, 0); /* @1 release @2 release */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS), l = bug_full(0, SETT_I32, 1), y = bug_full(0, SETT_F32, 1);
    bug_launch(add_up, &x, &l, &y);
    bug_expect(&y, 0, bug_get(&x, 0) + bug_get(&x, 1) + bug_get(&x, 2));
    return bug_close();
}
