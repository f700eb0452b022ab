/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the accumulators are read while the product that writes them is in flight
 * fix: sett_mma_wait(b, 0) in front of the store
 * wgmma is asynchronous: the registers of its sums are not there when the next instruction runs. Here one group may still be pending when
 * the sums are stored. sett refuses the kernel; by hand it gives old sums on an H200 at times. */
#include "bug.h"

enum { BM = 64, BN = 16, BK = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, BM, BK)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, BN, BK)), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024, .name = "sB");
    sett_val *t = sett_thread_idx(b, 0);
    sett_layout *threads = sett_make_layout(b, T(4, 32), T(32, 1));
    sett_copy(sett_local_partition(A, threads, t), sett_local_partition(sA, threads, t));
    sett_copy(sett_local_partition(B, threads, t), sett_local_partition(sB, threads, t));
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sA)), sett_make_fragment_B(mma, sett_partition_B(mine, sB)), acc, .overwrite = true); /* @1 write */
    sett_mma_commit(b);
    sett_mma_wait(b, bug_twin ? 0 : 1); /* @wait */
    sett_store(sett_partition_C(mine, C), sett_load(acc)); /* @2 read */
    sett_mma_wait(b, 0);
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
