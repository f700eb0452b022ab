/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: ownership: tiles are 64 apart and 65 wide, so that two blocks store one element, with different numbers
 * fix: tiles of 64
 * Each block stores a row of sums for its tile and one element beyond, where the next block begins. Who stores last wins. An H200
 * gives either number. */
#include "bug.h"

enum { BLOCKS = 3, TILE = 64, N = BLOCKS * TILE + 1 };

static void number(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_grid(b, BLOCKS);
    sett_block(b, 32);
    sett_val *tile = sett_block_idx(b, 0), *end = bug_twin ? sett_const(b, SETT_I32, TILE) : sett_add(sett_const(b, SETT_I32, TILE), 1);
    sett_for (b, i, sett_thread_idx(b, 0), end, 32)
        sett_set(Y, sett_add(sett_mul(tile, 1000), i), sett_add(sett_mul(tile, TILE), i)); /* @1 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf y = bug_out(SETT_I32, N);
    bug_launch(number, &y);
    for (int i = 0; i < N - 1; i++)
        bug_expect(&y, i, i / TILE * 1000 + i % TILE);
    return bug_close();
}
