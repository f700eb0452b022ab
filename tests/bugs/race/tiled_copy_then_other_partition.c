/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier between a tiled copy to shared memory and loads by another partition
 * fix: sett_sync_threads(b) behind the copy
 * A tiled copy brings a tile to shared memory, 16 bytes a thread along the rows; the product's threads partition it otherwise. Each
 * thread would be right if it read what it has copied. An H200 gives old contents for rows of other warps. */
#include "bug.h"

enum { M = 16, K = 32, THREADS = 64 };

static void column_sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, K), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, K));
    sett_block(b, THREADS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(M, K), T(K, 1)), 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_universal(b, SETT_F32, 128), sett_make_layout(b, T(8, 8), T(8, 1)), sett_make_layout(b, T(1, 4)));
    sett_thr_copy *mine = sett_get_slice(copy, t);
    sett_copy(copy, sett_partition_S(mine, X), sett_partition_D(mine, S)); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_val *half = sett_warp_idx(b), *column = sett_lane_idx(b);
    sett_val *rows = sett_load(sett_slice(sett_local_tile(S, T(M / 2, K), T(half, 0)), ALL, column)); /* @2 read */
    sett_set(Y, sett_reduce(rows, SETT_ADD, 0.0), half, column);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, K), y = bug_out(SETT_F32, 2, K);
    bug_launch(column_sums, &x, &y);
    for (int i = 0; i < 2 * K; i++) {
        double sum = 0;
        for (int r = 0; r < M / 2; r++)
            sum += bug_get(&x, (i / K * M / 2 + r) * K + i % K);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
