/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: an order between blocks: one reads elements beside its tile, which the neighbour overwrites in place
 * fix: write to another array
 * A three-point sum in place, a tile a block. The barrier in the block lets its own threads load before any of them stores; the
 * elements to the left and right belong to other blocks, for which there is no barrier. An H200 is wrong at the borders of tiles, by
 * which block ran first. */
#include "bug.h"

enum { BLOCKS = 4, TILE = 64, N = BLOCKS * TILE };

static void smooth(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, BLOCKS);
    sett_block(b, TILE);
    sett_tensor *from = X, *to = bug_twin ? Y : X;
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), TILE), sett_thread_idx(b, 0));
    sett_val *left = sett_at(from, sett_max(sett_sub(i, 1), 0));     /* @2 read */
    sett_val *right = sett_at(from, sett_min(sett_add(i, 1), N - 1)); /* @2 read */
    sett_val *sum = sett_add(sett_add(left, right), sett_at(from, i));
    sett_sync_threads(b);
    sett_set(to, sum, i); /* @1 write */
    if (!bug_twin)
        sett_set(Y, sum, i);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    double was[N];
    for (int i = 0; i < N; i++)
        was[i] = bug_get(&x, i);
    bug_launch(smooth, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, was[i ? i - 1 : 0] + was[i] + was[i < N - 1 ? i + 1 : N - 1]);
    return bug_close();
}
