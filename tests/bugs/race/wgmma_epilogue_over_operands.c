/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the other warp group may still multiply by B when this one writes its results over B's memory
 * fix: sett_sync_threads(b) behind the last sett_mma_wait, before the alias is written
 * public: sglang #37287
 * Two warp groups multiply their rows of A by one B. The epilogue takes B's shared memory for C, and each group has waited for its own
 * product alone. On an H200 both groups mostly end together. */
#include "bug.h"

enum { BM = 128, BN = 64, BK = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, BM, BK)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, BN, BK)), *C = sett_param(b, "C", SETT_F16, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 256);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024, .name = "sB");
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, 128), *of = sett_mod(t, 128);
    sett_layout *threads = sett_make_layout(b, T(8, 32), T(32, 1));
    sett_copy(sett_local_partition(A, threads, t), sett_local_partition(sA, threads, t));
    sett_copy(sett_local_partition(B, threads, t), sett_local_partition(sB, threads, t));
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(2, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sA)), sett_make_fragment_B(mma, sett_partition_B(mine, sB)), acc, .overwrite = true); /* @1 read */
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    if (bug_twin)
        sett_sync_threads(b);
    sett_for (b, turn, 0, 2, 1) { /* 64 rows of C are as large as B: the groups take turns */
        sett_if (b, sett_eq(group, turn)) {
            sett_tensor *sC = sett_smem_alias(sB, SETT_F16, sett_row_major(b, 64, BN));
            sett_thr_mma *own = sett_get_slice(sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL), of);
            sett_store(sett_partition_C(own, sC), sett_to(sett_load(acc), SETT_F16)); /* @2 write */
            sett_barrier(b, 1, 128);
            sett_layout *whole = sett_make_layout(b, T(2, 64), T(64, 1));
            sett_copy(sett_local_partition(sC, whole, of), sett_local_partition(sett_local_tile(C, T(64, BN), T(turn, 0)), whole, of));
        }
        sett_sync_threads(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F16, BM, BK), B = bug_in(SETT_F16, BN, BK), C = bug_out(SETT_F16, BM, BN);
    bug_launch(kernel, &A, &B, &C);
    for (int i = 0; i < BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < BK; k++)
            sum += bug_get(&A, i / BN * BK + k) * bug_get(&B, i % BN * BK + k);
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
