/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the accumulators: the product adds to what was in registers
 * fix: sett_fill(acc, 0), or .overwrite = true
 * A product by mma.sync whose accumulators were cleared in a branch that this launch does not take. */
#include "bug.h"

enum { M = 16, N = 8, K = 16 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, K)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, N, K)), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, 32);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8, .k = 16), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_lane_idx(b));
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(M, N))), *rA = sett_make_fragment_A(mma, sett_partition_A(mine, A)), *rB = sett_make_fragment_B(mma, sett_partition_B(mine, B)); /* @alloc */
    if (bug_twin)
        sett_fill(acc, 0);
    sett_copy(sett_partition_A(mine, A), rA);
    sett_copy(sett_partition_B(mine, B), rB);
    sett_gemm(mma, acc, rA, rB, acc); /* @1 read */
    sett_store(sett_partition_C(mine, C), sett_load(acc)); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F16, M, K), B = bug_in(SETT_F16, N, K), C = bug_out(SETT_F32, M, N);
    bug_launch(kernel, &A, &B, &C);
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += bug_get(&A, i / N * K + k) * bug_get(&B, i % N * K + k);
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
