/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: the maximum of one block of the cluster, which stores it only where its row is inside
 * fix: blocks past the end store 0
 * The blocks of a cluster store their maxima into block 0, which adds up four. Blocks whose tile is past the end store nothing. An
 * H200 adds old contents for the last rows. */
#include "bug.h"

enum { BLOCKS = 4, TILES = 3, N = 32 };

static void total(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_cluster(b, BLOCKS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, BLOCKS, 16, .name = "maxima"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *in = sett_lt(rank, TILES);
    sett_val *most = sett_warp_reduce(sett_load(sett_slice(X, rank, t), .pred = in), SETT_MAX, 32);
    sett_cluster_sync(b);
    sett_val *first = sett_eq(t, 0);
    sett_if (b, bug_twin ? first : sett_and(first, in))
        sett_set(sett_map_dsmem(S, 0), most, rank); /* @write */
    sett_cluster_sync(b);
    sett_if (b, sett_and(first, sett_eq(rank, 0))) {
        sett_val *all = sett_reduce(sett_load(S), SETT_ADD, 0.0); /* @1 read */
        sett_set(Y, all, 0); /* @2 use */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, 1);
    bug_launch(total, &x, &y);
    double all = 0;
    for (int k = 0; k < TILES; k++) {
        double most = -1000;
        for (int i = 0; i < N; i++)
            most = fmax(most, bug_get(&x, k * N + i));
        all += most;
    }
    bug_expect(&y, 0, all);
    return bug_close();
}
