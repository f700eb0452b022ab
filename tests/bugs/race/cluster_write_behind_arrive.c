/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: what is stored between cluster.arrive and cluster.wait is not behind this barrier for the peers
 * fix: the store in front of sett_cluster_arrive
 * The barrier is split so that something may overlap it. What overlaps is the very store that the peer reads. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *row = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "row");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *twice = sett_mul(sett_at(X, rank, t), 2);
    if (bug_twin)
        sett_set(row, twice, t);
    sett_cluster_arrive(b); /* @barrier */
    if (!bug_twin)
        sett_set(row, twice, t); /* @1 write */
    sett_cluster_wait(b);
    sett_set(Y, sett_at(sett_map_dsmem(row, sett_sub(1, rank)), sett_sub(N - 1, t)), rank, t); /* @2 read */
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, (i / N ^ 1) * N + N - 1 - i % N));
    return bug_close();
}
