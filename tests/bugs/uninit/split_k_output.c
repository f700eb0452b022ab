/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the output that blocks add to
 * fix: the host zeroes the output, or the first block stores in place of adding
 * public: flashinfer #1046
 * Blocks that share K add their parts to the output by atomics, as if it were 0. The host has allocated it, and written nothing. An
 * H200 gives right numbers where the allocator hands out fresh pages. */
#include "bug.h"

enum { BLOCKS = 4, N = 64 };

static void split(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_atomic_add(Y, sett_at(X, sett_block_idx(b, 0), t), t); /* @1 atomic */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), y = bug_twin ? bug_full(0, SETT_F32, N) : bug_out(SETT_F32, N);
    bug_launch(split, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) + bug_get(&x, N + i) + bug_get(&x, 2 * N + i) + bug_get(&x, 3 * N + i));
    return bug_close();
}
