/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the second barrier of a round: between the loads of a tile and the stores of the next one
 * fix: sett_sync_threads(b) at the end of the round
 * The first kernel of every course: tiles of A and B in shared memory, a barrier, a loop over the tile. The barrier at the end of the
 * round is the one that is forgotten. An H200 is wrong in some blocks under load. */
#include "bug.h"

enum { TILE = 8, TILES = 3, K = TILE * TILES };

static void matmul(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, TILE, K)), *B = sett_param(b, "B", SETT_F32, sett_row_major(b, K, TILE));
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, TILE, TILE));
    sett_block(b, TILE, TILE);
    sett_layout *tile = sett_make_layout(b, T(TILE, TILE), T(TILE + 1, 1));
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F32, tile, 16, .name = "sA"), *sB = sett_make_smem_tensor(b, SETT_F32, tile, 16, .name = "sB");
    sett_val *n = sett_thread_idx(b, 0), *m = sett_thread_idx(b, 1);
    sett_tensor *acc = sett_var(b, SETT_F32, 0.0);
    sett_for (b, k, 0, TILES, 1) {
        sett_val *first = sett_mul(k, TILE);
        sett_set(sA, sett_at(A, m, sett_add(first, n)), m, n); /* @1 write */
        sett_set(sB, sett_at(B, sett_add(first, m), n), m, n); /* @1 write */
        sett_sync_threads(b);
        for (int i = 0; i < TILE; i++)
            sett_set(acc, sett_fma(sett_at(sA, m, i), sett_at(sB, i, n), sett_at(acc, 0)), 0); /* @2 read */
        if (bug_twin)
            sett_sync_threads(b);
    }
    sett_set(C, sett_at(acc, 0), m, n);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf a = bug_in(SETT_F32, TILE, K), x = bug_in(SETT_F32, K, TILE), c = bug_out(SETT_F32, TILE, TILE);
    bug_launch(matmul, &a, &x, &c);
    for (int i = 0; i < TILE * TILE; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += bug_get(&a, i / TILE * K + k) * bug_get(&x, k * TILE + i % TILE);
        bug_expect(&c, i, sum);
    }
    return bug_close();
}
