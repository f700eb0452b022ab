/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: the wrap of the rank: the last block's right neighbour is the first one
 * fix: sett_mod(sett_add(rank, 1), BLOCKS)
 * Blocks of a cluster pass a number to the right. There is no block of rank BLOCKS. */
#include "bug.h"

enum { BLOCKS = 4 };

static void pass(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, BLOCKS)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, BLOCKS));
    sett_cluster(b, BLOCKS), sett_grid(b, BLOCKS), sett_block(b, 32);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "in");
    sett_val *rank = sett_block_idx_in_cluster(b), *next = sett_add(rank, 1), *first = sett_eq(sett_thread_idx(b, 0), 0);
    sett_cluster_sync(b);
    sett_if (b, first)
        sett_set(sett_map_dsmem(in, bug_twin ? sett_mod(next, BLOCKS) : next), sett_at(X, rank), 0); /* @1 write */
    sett_cluster_sync(b);
    sett_if (b, first)
        sett_set(Y, sett_at(in, 0), rank);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, BLOCKS), y = bug_out(SETT_I32, BLOCKS);
    bug_launch(pass, &x, &y);
    for (int i = 0; i < BLOCKS; i++)
        bug_expect(&y, i, bug_get(&x, (i + BLOCKS - 1) % BLOCKS));
    return bug_close();
}
