/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the flag of a tile that has no rows: its block has nothing to do, and sets none
 * fix: the flag behind the branch
 * Block 1 waits for block 0's flag. Block 0 sets it in the branch of tiles that have rows. An H200 hangs for empty tiles alone. */
#include "bug.h"

enum { N = 32 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 2));
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N)), *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_if (b, sett_gt(sett_at(L, 0), 0)) {
            sett_set(D, sett_at(X, 0, t), t);
            if (!bug_twin) {
                sett_sync_threads(b);
                sett_if (b, first)
                    sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @2 release */
            }
        }
        if (bug_twin) {
            sett_sync_threads(b);
            sett_if (b, first)
                sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
        }
    }
    sett_else (b) {
        sett_if (b, first)
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0)) /* @1 wait */
                ;
        sett_sync_threads(b);
        sett_val *before = sett_load(sett_slice(D, t), .pred = sett_gt(sett_at(L, 0), 0));
        sett_set(Y, sett_add(sett_at(X, 1, t), before), t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), l = bug_list(SETT_I32, 0, 1), d = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(sums, &x, &l, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N + i));
    return bug_close();
}
