/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a test of the row: the last tile of a batch reads rows of the next one
 * fix: .pred of the rows at the load
 * Batches of 6 rows are tiled by 4. The second tile of a batch has two rows that belong to the next one: inside of the buffer, but for
 * the last batch. An H200 counts them twice. */
#include "bug.h"

enum { BATCHES = 3, ROWS = 6, TILE = 4, N = 32 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BATCHES, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BATCHES, N));
    sett_grid(b, BATCHES - 1); /* the last batch has no next one: it is left out */
    sett_block(b, N);
    sett_val *batch = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_for (b, tile, 0, (ROWS + TILE - 1) / TILE, 1)
        for (int i = 0; i < TILE; i++) {
            sett_val *row = sett_add(sett_mul(tile, TILE), i);
            sett_val *x = sett_load(sett_slice(X, batch, row, t), .pred = bug_twin ? sett_lt(row, ROWS) : NULL); /* @1 read */
            sett_set(sum, sett_add(sett_at(sum, 0), x), 0);
        }
    sett_set(Y, sett_at(sum, 0), batch, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BATCHES, ROWS, N), y = bug_out(SETT_F32, BATCHES, N);
    bug_launch(sums, &x, &y);
    for (int i = 0; i < (BATCHES - 1) * N; i++) {
        double sum = 0;
        for (int r = 0; r < ROWS; r++)
            sum += bug_get(&x, i / N * ROWS * N + r * N + i % N);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
