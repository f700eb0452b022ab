/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the part of the tile that lies past the end of the row
 * fix: a store of .fill, without the predicate, for the threads past the end
 * A block sums a row of 100 numbers by a tile of 128 in shared memory. Threads past the end of the row store nothing, and the sum goes
 * over all 128. An H200 adds what an earlier block left there, often zeros. */
#include "bug.h"

enum { N = 100, TILE = 128 };

static void sum(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_block(b, TILE);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, TILE, 16, .name = "tile"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *in = sett_lt(t, N), *x = sett_load(sett_slice(X, t), .pred = in);
    if (bug_twin)
        sett_set(S, x, t);
    else
        sett_store(sett_slice(S, t), x, .pred = in); /* @write */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_tensor *mine = sett_local_partition(S, sett_make_layout(b, T1(32)), sett_lane_idx(b));
        sett_val *all = sett_warp_reduce(sett_reduce(sett_load(mine), SETT_ADD, 0.0), SETT_ADD, 32); /* @1 read */
        sett_if (b, sett_eq(t, 0))
            sett_set(Y, all, 0); /* @2 use */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 1);
    bug_launch(sum, &x, &y);
    double all = 0;
    for (int i = 0; i < N; i++)
        all += bug_get(&x, i);
    bug_expect(&y, 0, all);
    return bug_close();
}
