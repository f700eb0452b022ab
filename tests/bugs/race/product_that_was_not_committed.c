/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | registers
 * missing: the commit of the product: the wait is for groups, and the product belongs to none
 * fix: sett_mma_commit(b) in front of sett_mma_wait
 * One product, one wait, and no commit between the two. The wait ends at once, and the tile of B is overwritten while it is read. */
#include "bug.h"

enum { BM = 64, BN = 32, BK = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, BM, BK), .align = 16), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, BN, BK), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024, .name = "sB"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *ta = sett_make_tma(A, .smem = sA, .tile = T(BM, BK)), *tb = sett_make_tma(B, .smem = sB, .tile = T(BN, BK));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(ta) + sett_tma_bytes(tb), .pred = sett_elect_one(b));
        sett_tma_load(ta, sett_local_tile(sett_tma_tensor(ta), T(BM, BK), T(0, 0)), sA, full);
        sett_tma_load(tb, sett_local_tile(sett_tma_tensor(tb), T(BN, BK), T(0, 0)), sB, full);
    }
    sett_mbarrier_wait(full, 0);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sA)), sett_make_fragment_B(mma, sett_partition_B(mine, sB)), acc, .overwrite = true); /* @1 read */
    if (bug_twin)
        sett_mma_commit(b);
    sett_mma_wait(b, 0); /* @wait */
    sett_store(sett_partition_C(mine, C), sett_load(acc)); /* @2 read */
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
