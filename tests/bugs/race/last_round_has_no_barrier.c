/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the barrier behind the last tile's store: the loop has one at its start, and the tail uses the tile behind the loop
 * fix: sett_sync_threads(b) behind the loop
 * Each round stores a tile, and uses the one before it; the barrier is at the round's start. The last tile is used behind the loop,
 * where no barrier is. An H200 is wrong in the last tile. */
#include "bug.h"

enum { TILES = 3, N = 64 };

static void reversed(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 16);
    sett_val *t = sett_thread_idx(b, 0), *other = sett_sub(N - 1, t);
    sett_set(S, sett_at(X, 0, t), t, 0);
    sett_for (b, k, 1, TILES, 1) {
        sett_sync_threads(b);
        sett_set(S, sett_at(X, k, t), t, sett_mod(k, 2)); /* @1 write */
        sett_set(Y, sett_at(S, other, sett_mod(sett_sub(k, 1), 2)), sett_sub(k, 1), t);
    }
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(Y, sett_at(S, other, (TILES - 1) % 2), TILES - 1, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(reversed, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
