/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: the peer may not run yet when its shared memory is written
 * fix: sett_cluster_sync(b) at the beginning
 * Blocks send a row to their peer as the first thing they do. Blocks of a cluster are scheduled together, which is no promise
 * that all of them have begun. */
#include "bug.h"

enum { BLOCKS = 2, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, BLOCKS);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    if (bug_twin)
        sett_cluster_sync(b);
    sett_set(sett_map_dsmem(in, sett_sub(1, rank)), sett_at(X, rank, t), t); /* @1 write */
    sett_cluster_sync(b);
    sett_set(Y, sett_at(in, sett_xor(t, 2)), rank, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, BLOCKS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i / N ^ 1) * N + (i % N ^ 2)));
    return bug_close();
}
