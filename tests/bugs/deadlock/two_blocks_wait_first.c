/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: one block that begins: each waits for the other one's flag before it sets its own
 * fix: the own flag before the wait
 * Two blocks exchange rows. Each stores its row, waits until the other's is there, and only then says that its own is. An H200 hangs. */
#include "bug.h"

enum { N = 32 };

static void exchange(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, 2, N));
    sett_tensor *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 2)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0), *other = sett_sub(1, block);
    sett_set(D, sett_at(X, block, t), block, t);
    sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0)) {
        if (bug_twin)
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, block);
        sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, other), 0)) /* @1 wait */
            ;
        if (!bug_twin)
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, block); /* @2 release */
    }
    sett_sync_threads(b);
    sett_set(Y, sett_at(D, other, t), block, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), d = bug_out(SETT_F32, 2, N), f = bug_full(0, SETT_I32, 2), y = bug_out(SETT_F32, 2, N);
    bug_launch(exchange, &x, &d, &f, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ N));
    return bug_close();
}
