/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: two products may be pending, and the older one reads the slot that the threads write next
 * fix: sett_mma_wait(b, 1) in front of the stores
 * Threads convert f32 to f16 on the way to shared memory, to two slots in turn, while the product of the other slot goes on. The wait is by
 * one group too weak. The stores come several hundred cycles later, so that an H200 gives right numbers. */
#include "bug.h"

enum { BM = 64, BN = 16, BK = 64, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, BM, TILES * BK)), *B = sett_param(b, "B", SETT_F32, sett_row_major(b, BN, TILES * BK)), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK, 2), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK, 2), 1024, .name = "sB");
    sett_val *t = sett_thread_idx(b, 0);
    sett_layout *threads = sett_make_layout(b, T(4, 32), T(32, 1));
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_for (b, k, 0, TILES, 1) {
        sett_tensor *a = sett_slice(sA, ALL, ALL, sett_mod(k, 2)), *w = sett_slice(sB, ALL, ALL, sett_mod(k, 2));
        sett_mma_wait(b, bug_twin ? 1 : 2); /* @wait */
        sett_sync_threads(b);
        sett_store(sett_local_partition(a, threads, t), sett_to(sett_load(sett_local_partition(sett_local_tile(A, T(BM, BK), T(0, k)), threads, t)), SETT_F16)); /* @2 write */
        sett_store(sett_local_partition(w, threads, t), sett_to(sett_load(sett_local_partition(sett_local_tile(B, T(BN, BK), T(0, k)), threads, t)), SETT_F16)); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, a)), sett_make_fragment_B(mma, sett_partition_B(mine, w)), acc, .accumulate = sett_gt(k, 0)); /* @1 read */
        sett_mma_commit(b);
    }
    sett_mma_wait(b, 0);
    sett_store(sett_partition_C(mine, C), sett_load(acc));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F32, BM, TILES * BK), B = bug_in(SETT_F32, BN, TILES * BK), C = bug_out(SETT_F32, BM, BN);
    bug_launch(kernel, &A, &B, &C);
    for (int i = 0; i < BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < TILES * BK; k++)
            sum += bug_get(&A, i / BN * TILES * BK + k) * bug_get(&B, i % BN * TILES * BK + k);
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
