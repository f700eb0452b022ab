/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the lanes whose rows are past the end at mma.sync
 * fix: zeros in the rows past the end, and the product outside of the branch
 * A warp's last tile has 5 rows of 16, so lanes with none of them skip the product. mma.sync is an instruction of the warp. An H200
 * gives wrong products in the rows that are there. */
#include "bug.h"

enum { M = 16, N = 8, K = 16, ROWS = 5 };

static void gemm(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, K)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, N, K));
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *row = sett_floordiv(t, 4);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = M, .n = N, .k = K), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *tA = sett_partition_A(mine, A), *tB = sett_partition_B(mine, B), *tC = sett_partition_C(mine, C);
    sett_tensor *rA = sett_make_fragment_A(mma, tA), *rB = sett_make_fragment_B(mma, tB), *acc = sett_make_fragment_C(mma, tC);
    sett_fill(acc, 0.0);
    sett_copy(tA, rA);
    sett_copy(tB, rB);
    if (bug_twin)
        sett_gemm(mma, acc, rA, rB, acc);
    sett_if (b, sett_lt(row, ROWS)) {
        if (!bug_twin)
            sett_gemm(mma, acc, rA, rB, acc); /* @1 use */
        sett_copy(acc, tC);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf a = bug_in(SETT_F16, M, K), x = bug_in(SETT_F16, N, K), c = bug_out(SETT_F32, M, N);
    bug_launch(gemm, &a, &x, &c);
    for (int i = 0; i < ROWS * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += bug_get(&a, i / N * K + k) * bug_get(&x, i % N * K + k);
        bug_expect(&c, i, sum);
    }
    return bug_close();
}
