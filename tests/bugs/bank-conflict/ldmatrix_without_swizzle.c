/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: a swizzle of the tile that ldmatrix reads
 * fix: sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, ROWS, K)
 * Eight rows of a matrix of ldmatrix are 128 bytes apart: all in the same four banks, eight wavefronts for one. A swizzle exchanges
 * pieces of 16 bytes, row by row. */
#include "bug.h"

enum { ROWS = 8, K = 64 };

static void columns(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, ROWS, K)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, K / 8, 32, 2));
    sett_block(b, 32);
    sett_layout *plain = sett_make_layout(b, T(ROWS, K), T(K, 1));
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, bug_twin ? sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, ROWS, K) : plain, 1024); /* @alloc */
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_F16, 2);
    sett_val *t = sett_thread_idx(b, 0);
    for (int row = 0; row < ROWS; row++)
        for (int half = 0; half < K; half += 32)
            sett_set(S, sett_at(X, row, sett_add(t, half)), row, sett_add(t, half));
    sett_sync_warp(b);
    for (int k = 0; k < K / 8; k++) {
        sett_copy(sett_ldmatrix(b, SETT_F16, 1, false), sett_local_tile(sett_slice(S, sett_and(t, 7), ALL), T1(8), T1(k)), r); /* @1 read */
        sett_store(sett_slice(Y, k, t, ALL), sett_load(r));
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, ROWS, K), y = bug_out(SETT_F16, K / 8, 32, 2);
    bug_launch(columns, &x, &y);
    for (int i = 0; i < ROWS * K; i++) /* matrix k, then row, then column */
        bug_expect(&y, i, bug_get(&x, i % 64 / 8 * K + i / 64 * 8 + i % 8));
    return bug_close();
}
