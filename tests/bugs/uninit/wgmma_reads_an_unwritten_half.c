/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the columns of B's tile behind its last one: nobody stored them, and the product takes all
 * fix: zeros for the columns past N
 * B has 16 columns and the product's tile 32. Threads store what there is; the product multiplies by what lies behind, and sums of those
 * columns are stored, "they are never looked at". */
#include "bug.h"

enum { BM = 64, BN = 32, BK = 64, COLUMNS = 16 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, BM, BK)), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, COLUMNS, BK));
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024, .name = "sB"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *k = sett_mod(t, BK), *half = sett_floordiv(t, BK);
    for (int i = 0; i < BM; i += 2)
        sett_set(sA, sett_at(A, sett_add(half, i), k), sett_add(half, i), k);
    for (int i = 0; i < COLUMNS; i += 2)
        sett_set(sB, sett_at(B, sett_add(half, i), k), sett_add(half, i), k);
    if (bug_twin)
        for (int i = COLUMNS; i < BN; i += 2)
            sett_set(sB, 0, sett_add(half, i), k);
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sA)), sett_make_fragment_B(mma, sett_partition_B(mine, sB)), acc, .overwrite = true); /* @1 read */
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    sett_store(sett_partition_C(mine, C), sett_load(acc)); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F16, BM, BK), B = bug_in(SETT_F16, COLUMNS, BK), C = bug_out(SETT_F32, BM, BN);
    bug_launch(kernel, &A, &B, &C);
    for (int i = 0; i < BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < BK; k++)
            sum += i % BN < COLUMNS ? bug_get(&A, i / BN * BK + k) * bug_get(&B, i % BN * BK + k) : 0;
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
