/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: ownership: blocks (i,j) and (j,i) both exchange the same two tiles
 * fix: blocks on one side of the diagonal alone
 * A matrix is transposed in place, a tile a block: each loads its tile and the one across the diagonal, and stores both the other way
 * round. The two blocks of a pair undo each other's work, or mix it. An H200 gives any of it. */
#include "bug.h"

enum { TILE = 8, TILES = 2, N = TILE * TILES };

static void transpose(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N, N));
    sett_grid(b, TILES, TILES);
    sett_block(b, TILE, TILE);
    sett_val *i = sett_block_idx(b, 0), *j = sett_block_idx(b, 1), *x = sett_thread_idx(b, 0), *y = sett_thread_idx(b, 1);
    sett_val *m = sett_add(sett_mul(i, TILE), x), *n = sett_add(sett_mul(j, TILE), y);
    sett_if (b, bug_twin ? sett_lt(m, n) : sett_ne(m, n)) {
        sett_val *here = sett_at(X, m, n), *there = sett_at(X, n, m); /* @2 read */
        sett_set(X, there, m, n); /* @1 write */
        sett_set(X, here, n, m);  /* @1 write */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N, N);
    double was[N * N];
    for (int i = 0; i < N * N; i++)
        was[i] = bug_get(&x, i);
    bug_launch(transpose, &x);
    for (int i = 0; i < N * N; i++)
        bug_expect(&x, i, was[i % N * N + i / N]);
    return bug_close();
}
