/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: scope of the count: acquire and release of a block, where blocks count
 * fix: SETT_SCOPE_GPU
 * The atomic that finds the last block has acquire and release, of the block's scope. The last block sees the count, and is promised
 * nothing of the parts. An H200 gives right numbers on most days. */
#include "bug.h"

enum { BLOCKS = 4, N = 64 };

static void most(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *P = sett_param(b, "P", SETT_F32, sett_row_major(b, BLOCKS));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    const sett_scope scope = bug_twin ? SETT_SCOPE_GPU : SETT_SCOPE_CTA;
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0), *part = sett_block_reduce(sett_at(X, block, t), SETT_MAX);
    sett_if (b, sett_eq(t, 0)) {
        sett_set(P, sett_add(part, sett_to(block, SETT_F32)), block); /* @1 write */
        sett_val *before = sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, scope, 1, 0); /* @atomic */
        sett_if (b, sett_eq(before, BLOCKS - 1))
            sett_set(Y, sett_reduce(sett_load(P), SETT_ADD, 0.0), 0); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), p = bug_out(SETT_F32, BLOCKS), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, 1);
    bug_launch(most, &x, &p, &c, &y);
    double all = 0;
    for (int k = 0; k < BLOCKS; k++) {
        double best = -1000;
        for (int i = 0; i < N; i++)
            best = fmax(best, bug_get(&x, k * N + i));
        all += best + k;
    }
    bug_expect(&y, 0, all);
    return bug_close();
}
