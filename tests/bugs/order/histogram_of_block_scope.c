/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order | race
 * missing: scope: blocks count in one histogram by atomics of the block's scope
 * fix: SETT_SCOPE_GPU
 * Bins lie in global memory and all blocks add to them, by atomics that are such for the threads of one block. An H200 does all of them in L2
 * and gives right numbers. */
#include "bug.h"

enum { N = 64, BINS = 4 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, 2 * N)), *H = sett_param(b, "H", SETT_I32, sett_row_major(b, BINS));
    sett_grid(b, 2), sett_block(b, N);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), N), sett_thread_idx(b, 0));
    sett_atomic_ordered(H, SETT_ATOMIC_ADD, SETT_SEM_RELAXED, bug_twin ? SETT_SCOPE_GPU : SETT_SCOPE_CTA, 1, sett_and(sett_at(X, i), BINS - 1)); /* @1 atomic */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, 2 * N), h = bug_full(0, SETT_I32, BINS);
    bug_launch(count, &x, &h);
    int want[BINS] = {0};
    for (int i = 0; i < 2 * N; i++)
        want[(int)bug_get(&x, i) & (BINS - 1)]++;
    for (int i = 0; i < BINS; i++)
        bug_expect(&h, i, want[i]);
    return bug_close();
}
