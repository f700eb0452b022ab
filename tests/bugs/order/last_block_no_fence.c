/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: the order of each block's part and its count: parts may be seen after the count
 * fix: sett_fence_acq_rel_gpu(b) between the part and the count
 * Each block stores a part and counts itself; the last one to count adds up all parts. The counts are relaxed atomics, and the fence
 * before them was forgotten. An H200 gives right numbers on most days: the store and the atomic go the same way to L2. */
#include "bug.h"

enum { BLOCKS = 4, N = 64 };

static void sum(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *P = sett_param(b, "P", SETT_F32, sett_row_major(b, BLOCKS));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0), *part = sett_block_reduce(sett_at(X, block, t), SETT_ADD);
    sett_if (b, sett_eq(t, 0)) {
        sett_set(P, part, block); /* @1 write */
        if (bug_twin)
            sett_fence_acq_rel_gpu(b);
        sett_val *before = sett_atomic_add(C, 1, 0); /* @atomic */
        sett_if (b, sett_eq(before, BLOCKS - 1)) {
            sett_fence_acq_rel_gpu(b);
            sett_set(Y, sett_reduce(sett_load(P), SETT_ADD, 0.0), 0); /* @2 read */
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), p = bug_out(SETT_F32, BLOCKS), c = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, 1);
    bug_launch(sum, &x, &p, &c, &y);
    double all = 0;
    for (int i = 0; i < BLOCKS * N; i++)
        all += bug_get(&x, i);
    bug_expect(&y, 0, all);
    return bug_close();
}
