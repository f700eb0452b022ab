/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | order
 * missing: the second barrier of the grid waits for as many arrivals as the first, and these have come already
 * fix: wait for 2 * BLOCKS
 * One counter serves two barriers of the grid. It is not set back, so the second wait ends at once. */
#include "bug.h"

enum { BLOCKS = 4, N = 32 };

static void meet(sett_build *b, sett_tensor *C, sett_val *t, int until)
{
    sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
        sett_while (b, sett_lt(sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), until)) {}
    }
    sett_sync_threads(b);
}

static void steps(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *A = sett_param(b, "A", SETT_F32, sett_row_major(b, BLOCKS, N)), *B = sett_param(b, "B", SETT_F32, sett_row_major(b, BLOCKS, N)), *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N), sett_cooperative(b);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *next = sett_mod(sett_add(m, 1), BLOCKS);
    sett_set(A, sett_at(X, m, t), m, t);
    meet(b, C, t, BLOCKS);
    sett_set(B, sett_mul(sett_at(A, next, t), 2), m, t); /* @1 write */
    meet(b, C, t, bug_twin ? 2 * BLOCKS : BLOCKS);
    sett_set(Y, sett_at(B, next, t), m, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), a = bug_out(SETT_F32, BLOCKS, N), bb = bug_out(SETT_F32, BLOCKS, N), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(steps, &x, &a, &bb, &c, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, (i + 2 * N) % (BLOCKS * N)));
    return bug_close();
}
