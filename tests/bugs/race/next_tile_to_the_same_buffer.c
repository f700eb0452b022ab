/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the other buffer: the tile of the next round is stored where this round's is still read
 * fix: store to buffer (k + 1) % 2
 * Two buffers and one barrier a round: while a tile is used, the next one goes from registers to the other buffer. The index of the
 * store is that of the tile which is used. An H200 computes with parts of the next tile. */
#include "bug.h"

enum { TILES = 4, N = 64 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 16), *sum = sett_var(b, SETT_F32, 0.0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, 0, t), t, 0);
    sett_sync_threads(b);
    for (int k = 0; k < TILES; k++) {
        const int now = bug_twin ? k % 2 : 0, next = bug_twin ? 1 - now : 0;
        sett_set(sum, sett_add(sett_mul(sett_at(sum, 0), 2), sett_at(S, sett_sub(N - 1, t), now)), 0); /* @2 read */
        if (k + 1 < TILES)
            sett_set(S, sett_at(X, k + 1, t), t, next); /* @1 write */
        sett_sync_threads(b);
    }
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, N);
    bug_launch(sums, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < TILES; k++)
            sum = 2 * sum + bug_get(&x, k * N + N - 1 - i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
