/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of A's tile and the stores of C's, which has the same bytes
 * fix: sett_sync_threads(b) before the alias is written
 * public: sglang #37287
 * The epilogue puts C where A's tile was, to store it in order. A warp that has its sums stores them over rows of A that others still
 * multiply. An H200 mostly has the warps in step, and fails on some grids. */
#include "bug.h"

enum { M = 64, K = 16 };

/* Y = the sum of each row of X X^T, turned around. */
static void epilogue(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, K)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M));
    sett_block(b, M);
    sett_tensor *A = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(M, K), T(K + 1, 1)), 16, .name = "sA");
    sett_tensor *C = sett_smem_alias(A, SETT_F32, M);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_copy(sett_slice(X, t, ALL), sett_slice(A, t, ALL));
    sett_sync_threads(b);
    sett_for (b, n, 0, M, 1) {
        sett_val *product = sett_mul(sett_load(sett_slice(A, t, ALL)), sett_load(sett_slice(A, n, ALL))); /* @2 read */
        sett_set(sum, sett_add(sett_at(sum, 0), sett_reduce(product, SETT_ADD, 0.0)), 0);
    }
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(C, sett_at(sum, 0), t); /* @1 write */
    sett_sync_threads(b);
    sett_set(Y, sett_at(C, sett_sub(M - 1, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M, K), y = bug_out(SETT_F32, M);
    bug_launch(epilogue, &x, &y);
    for (int m = 0; m < M; m++) {
        double sum = 0;
        for (int i = 0; i < M * K; i++)
            sum += bug_get(&x, m * K + i % K) * bug_get(&x, i);
        bug_expect(&y, M - 1 - m, sum);
    }
    return bug_close();
}
