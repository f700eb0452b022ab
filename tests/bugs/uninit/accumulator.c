/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the accumulator before the loop
 * fix: sett_fill(acc, 0.0)
 * A product of matrices by mma.sync adds to its accumulators from the first round on, and nobody has set them. A register's old
 * contents are often 0 on an H200, in the first blocks. */
#include "bug.h"

enum { M = 16, N = 8, K = 16 };

static void gemm(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, K)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, N, K));
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, 32);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = M, .n = N, .k = K), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_thread_idx(b, 0));
    sett_tensor *tA = sett_partition_A(mine, A), *tB = sett_partition_B(mine, B), *tC = sett_partition_C(mine, C);
    sett_tensor *rA = sett_make_fragment_A(mma, tA), *rB = sett_make_fragment_B(mma, tB), *acc = sett_make_fragment_C(mma, tC); /* @alloc */
    if (bug_twin)
        sett_fill(acc, 0.0);
    sett_copy(tA, rA);
    sett_copy(tB, rB);
    sett_gemm(mma, acc, rA, rB, acc); /* @1 read */
    sett_copy(acc, tC); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf a = bug_in(SETT_F16, M, K), x = bug_in(SETT_F16, N, K), c = bug_out(SETT_F32, M, N);
    bug_launch(gemm, &a, &x, &c);
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += bug_get(&a, i / N * K + k) * bug_get(&x, i % N * K + k);
        bug_expect(&c, i, sum);
    }
    return bug_close();
}
