/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of a tile's number and the store of the next one
 * fix: sett_sync_threads(b) at the end of the round
 * public: llama.cpp #28358
 * A persistent kernel: thread 0 takes the next tile by an atomic and publishes its number in shared memory. It takes another one
 * before the last warp has read the first. An H200 skips parts of tiles. */
#include "bug.h"

enum { BLOCKS = 2, TILES = 7, N = 64 };

static void persistent(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1));
    sett_grid(b, BLOCKS);
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "tile"), *tile = sett_var(b, SETT_I32, 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_while (b, sett_lt(sett_at(tile, 0), TILES)) {
        sett_if (b, sett_eq(t, 0))
            sett_set(S, sett_atomic_add(C, 1, 0), 0); /* @1 write */
        sett_sync_threads(b);
        sett_set(tile, sett_at(S, 0), 0); /* @2 read */
        sett_if (b, sett_lt(sett_at(tile, 0), TILES))
            sett_set(Y, sett_mul(sett_at(X, sett_at(tile, 0), t), 2), sett_at(tile, 0), t);
        if (bug_twin)
            sett_sync_threads(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_full(100, SETT_F32, TILES, N), c = bug_full(0, SETT_I32, 1);
    bug_launch(persistent, &x, &y, &c);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
