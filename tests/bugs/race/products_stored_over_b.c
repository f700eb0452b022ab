/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the last loads of B's tile and the products, which go to its memory
 * fix: sett_sync_threads(b) behind the product
 * Two warps multiply by mma.sync. Each has its fragments of A and B in registers when it stores its products over B's tile; the other
 * one may yet load its own. An H200 gives wrong products for the warp that is late. */
#include "bug.h"

enum { M = 16, N = 16, K = 16 };

static void gemm(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, K)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, N, K));
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, M, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, T(2 * N, K), T(K, 1)), 16, .name = "sB"); /* C has twice B's bytes */
    sett_tensor *sB = sett_local_tile(S, T(N, K), T(0, 0)), *sC = sett_smem_alias(S, SETT_F32, sett_make_layout(b, T(M, N), T(N, 1)));
    sett_val *t = sett_thread_idx(b, 0);
    sett_layout *threads = sett_make_layout(b, T(4, 16), T(16, 1));
    sett_copy(sett_local_partition(B, threads, t), sett_local_partition(sB, threads, t));
    sett_sync_threads(b);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8, .k = 16), T(1, 2, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *tA = sett_partition_A(mine, A), *tB = sett_partition_B(mine, sB), *tC = sett_partition_C(mine, sC);
    sett_tensor *rA = sett_make_fragment_A(mma, tA), *rB = sett_make_fragment_B(mma, tB), *acc = sett_make_fragment_C(mma, tC);
    sett_copy(tA, rA);
    sett_copy(tB, rB); /* @2 read */
    sett_fill(acc, 0.0);
    sett_gemm(mma, acc, rA, rB, acc);
    if (bug_twin)
        sett_sync_threads(b);
    sett_copy(acc, tC); /* @1 write */
    sett_sync_threads(b);
    sett_copy(sett_local_partition(sC, threads, t), sett_local_partition(C, threads, t));
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
