/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the semaphores of the workspace
 * fix: the host zeroes the workspace before the first launch
 * public: vllm-xpu #586
 * The last of the blocks that count themselves in a word of the workspace adds up the parts. The word was allocated and never set: the
 * last block is another one, or none. An H200 is right with fresh pages. */
#include "bug.h"

enum { BLOCKS = 4 };

static void parts(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS)), *P = sett_param(b, "P", SETT_F32, sett_row_major(b, BLOCKS));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, 32);
    sett_val *k = sett_block_idx(b, 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_set(P, sett_at(X, k), k);
        sett_val *before = sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, 0); /* @1 atomic */
        sett_if (b, sett_eq(before, BLOCKS - 1)) /* @use */
            sett_set(Y, sett_reduce(sett_load(P), SETT_ADD, 0.0), 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS), p = bug_out(SETT_F32, BLOCKS), c = bug_twin ? bug_full(0, SETT_I32, 1) : bug_out(SETT_I32, 1), y = bug_out(SETT_F32, 1);
    bug_launch(parts, &x, &p, &c, &y);
    bug_expect(&y, 0, bug_get(&x, 0) + bug_get(&x, 1) + bug_get(&x, 2) + bug_get(&x, 3));
    return bug_close();
}
