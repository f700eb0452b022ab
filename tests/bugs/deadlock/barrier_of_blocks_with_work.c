/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the blocks without a tile at the grid's barrier, which counts all of them
 * fix: the barrier outside of the branch
 * Blocks past the last tile have nothing to do and skip the phase with its barrier. The others wait for all blocks of the grid. */
#include "bug.h"

enum { BLOCKS = 4, TILES = 3, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, BLOCKS, N)), *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N), sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_if (b, sett_lt(m, bug_twin ? BLOCKS : TILES)) {
        sett_set(W, sett_at(X, m, t), m, t);
        sett_sync_threads(b);
        sett_if (b, sett_eq(t, 0)) {
            sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @2 release */
            sett_while (b, sett_lt(sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), BLOCKS)) {} /* @1 wait */
        }
        sett_sync_threads(b);
        sett_set(Y, sett_at(W, sett_mod(sett_add(m, 1), BLOCKS), t), m, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), w = bug_full(0, SETT_F32, BLOCKS, N), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(kernel, &x, &w, &c, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + N) % (BLOCKS * N)));
    return bug_close();
}
