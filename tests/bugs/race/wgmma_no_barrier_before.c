/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: each warp reads all of B, and nothing tells it that the other three have stored their rows
 * fix: sett_barrier(b, 1, 128) behind the fence, in front of the product
 * A warp group stores B and multiplies. The proxy fence is there, and the barrier is not: "wgmma is of the whole warp group anyway". wgmma
 * does not wait for the four warps' stores. An H200 gives right numbers unless a warp is held up in its loads. */
#include "bug.h"

enum { BM = 64, BN = 64, BK = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, BM, BK)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, BN, BK)), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024, .name = "sB");
    sett_val *t = sett_thread_idx(b, 0);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN, .a_from = SETT_RMEM), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN))), *pA = sett_partition_A(mine, A), *fA = sett_make_fragment_A(mma, pA);
    sett_copy(pA, fA);
    sett_layout *rows = sett_make_layout(b, T(64, 2), T(1, 64));
    sett_copy(sett_local_partition(B, rows, t), sett_local_partition(sB, rows, t)); /* @1 write */
    sett_fence_view_async_shared(b);
    if (bug_twin)
        sett_barrier(b, 1, 128);
    sett_gemm(mma, acc, fA, sett_make_fragment_B(mma, sett_partition_B(mine, sB)), acc, .overwrite = true); /* @2 read */
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    sett_store(sett_partition_C(mine, C), sett_load(acc));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F16, BM, BK), B = bug_in(SETT_F16, BN, BK), C = bug_out(SETT_F32, BM, BN);
    bug_launch(kernel, &A, &B, &C);
    for (int i = 0; i < BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < BK; k++)
            sum += bug_get(&A, i / BN * BK + k) * bug_get(&B, i % BN * BK + k);
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
