/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: atomicity: the blocks that share an output add to it by a load and a store
 * fix: sett_atomic_add in place of the load, the addition and the store
 * K is shared among four blocks, each of which adds its part of a sum to Y. Loads and stores of blocks are not ordered: parts are
 * lost. An H200 loses some in most runs, none where blocks run one after another. */
#include "bug.h"

enum { BLOCKS = 4, N = 64, K = 32 };

static void split(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N, BLOCKS * K)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_val *n = sett_thread_idx(b, 0);
    sett_tensor *mine = sett_local_tile(sett_slice(X, n, ALL), T1(K), T1(sett_block_idx(b, 0)));
    sett_val *part = sett_reduce(sett_load(mine), SETT_ADD, 0.0);
    if (bug_twin)
        sett_atomic_add(Y, part, n);
    else
        sett_set(Y, sett_add(sett_at(Y, n), part), n); /* @1 write @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N, BLOCKS * K), y = bug_full(0, SETT_F32, N);
    bug_launch(split, &x, &y);
    for (int n = 0; n < N; n++) {
        double sum = 0;
        for (int k = 0; k < BLOCKS * K; k++)
            sum += bug_get(&x, n * BLOCKS * K + k);
        bug_expect(&y, n, sum);
    }
    return bug_close();
}
