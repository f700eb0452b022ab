/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: an order between blocks: block 0 adds up parts that the other blocks have yet to store
 * fix: a second kernel, or a counter that the blocks release and block 0 acquires
 * Each block stores its part, and block 0 adds them up "at the end", which is the end of block 0 alone. An H200 adds zeros, or parts
 * of an earlier launch. */
#include "bug.h"

enum { BLOCKS = 4, N = 64 };

static void parts(sett_build *b, const void *user)
{
    const bool second = user != NULL;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *P = sett_param(b, "P", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0);
    if (!second)
        sett_set(P, sett_mul(sett_at(X, block, t), 2), block, t); /* @1 write */
    if (second || !bug_twin)
        sett_if (b, sett_eq(block, 0))
            sett_set(Y, sett_reduce(sett_load(sett_slice(P, ALL, t)), SETT_ADD, 0.0), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), p = bug_out(SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, N);
    bug_launch(parts, &x, &p, &y);
    if (bug_twin)
        bug_launch_of(parts, "second", &x, &p, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * (bug_get(&x, i) + bug_get(&x, N + i) + bug_get(&x, 2 * N + i) + bug_get(&x, 3 * N + i)));
    return bug_close();
}
