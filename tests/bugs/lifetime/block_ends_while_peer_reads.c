/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: a block may end while its peer still reads its shared memory
 * fix: sett_cluster_sync(b) at the end of the kernel
 * public: Triton #11731
 * Each block reads a row of the other one's shared memory and ends. The one that is faster takes its memory away. On an H200 this is an
 * illegal access (Xid 13) in one of many launches. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *row = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "row");
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_set(row, sett_at(X, rank, t), t);
    sett_cluster_sync(b);
    sett_set(Y, sett_at(sett_map_dsmem(row, sett_sub(1, rank)), sett_sub(N - 1, t)), rank, t); /* @1 read */
    if (bug_twin)
        sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, (i / N ^ 1) * N + N - 1 - i % N));
    return bug_close();
}
