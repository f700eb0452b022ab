/* SPDX-License-Identifier: Apache-2.0 */
/* kind: swizzle
 * missing: tiles of the second tensor come by a map without a swizzle, to the stage that the product reads with one
 * fix: both maps by .smem of the same ring
 * A is the rows of two tensors one below the other, as where a cache is followed by what is new. Each has a map; that of the second was made
 * of the older layout. Products of the first part alone are right. */
#include "bug.h"

enum { BM = 64, BN = 16, BK = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A0 = sett_param(b, "A0", SETT_F16, sett_row_major(b, BM, BK), .align = 16), *A1 = sett_param(b, "A1", SETT_F16, sett_row_major(b, BM, BK), .align = 16);
    sett_tensor *B = sett_param(b, "B", SETT_F16, sett_row_major(b, BN, BK), .align = 16), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, 2 * BM, BN));
    sett_grid(b, 2), sett_block(b, 128);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024, .name = "sB"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tensor *second = bug_twin ? sA : sett_smem_alias(sA, SETT_F16, sett_row_major(b, BM, BK));
    sett_tma *t0 = sett_make_tma(A0, .smem = sA, .tile = T(BM, BK)), *t1 = sett_make_tma(A1, .smem = second, .tile = T(BM, BK)), *tb = sett_make_tma(B, .smem = sB, .tile = T(BN, BK));
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(t0) + sett_tma_bytes(tb));
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_if (b, sett_eq(m, 0))
            sett_tma_load(t0, sett_local_tile(sett_tma_tensor(t0), T(BM, BK), T(0, 0)), sA, full);
        sett_else (b)
            sett_tma_load(t1, sett_local_tile(sett_tma_tensor(t1), T(BM, BK), T(0, 0)), second, full); /* @1 copy */
        sett_tma_load(tb, sett_local_tile(sett_tma_tensor(tb), T(BN, BK), T(0, 0)), sB, full);
    }
    sett_mbarrier_wait(full, 0);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sA)), sett_make_fragment_B(mma, sett_partition_B(mine, sB)), acc, .overwrite = true); /* @2 read */
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    sett_store(sett_partition_C(mine, sett_local_tile(C, T(BM, BN), T(m, 0))), sett_load(acc));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A0 = bug_in(SETT_F16, BM, BK), A1 = bug_in(SETT_F16, BM, BK), B = bug_in(SETT_F16, BN, BK), C = bug_out(SETT_F32, 2 * BM, BN);
    bug_launch(kernel, &A0, &A1, &B, &C);
    for (int i = 0; i < 2 * BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < BK; k++)
            sum += bug_get(i < BM * BN ? &A0 : &A1, i / BN % BM * BK + k) * bug_get(&B, i % BN * BK + k);
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
