/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a warp group writes its output over the queries while the other one still multiplies by all of them
 * fix: sett_barrier(b, 3, 256) of both groups in front of the output, or output over the own rows alone
 * The memory of Q is free when the last product has read it, "so O may go there". In this kernel each group reads the rows of both, for
 * they share a head. */
#include "bug.h"

enum { BM = 64, BN = 64, BK = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Q = sett_param(b, "Q", SETT_F16, sett_row_major(b, BM, BK)), *K = sett_param(b, "K", SETT_F16, sett_row_major(b, 2 * BN, BK)), *O = sett_param(b, "O", SETT_F32, sett_row_major(b, BM, 2 * BN));
    sett_grid(b, 1), sett_block(b, 256);
    sett_tensor *sQ = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024, .name = "sQ");
    sett_tensor *sK = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 2 * BN, BK), 1024, .name = "sK");
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, 128), *of = sett_mod(t, 128);
    sett_layout *threads = sett_make_layout(b, T(8, 32), T(32, 1));
    sett_copy(sett_local_partition(Q, threads, t), sett_local_partition(sQ, threads, t));
    sett_copy(sett_local_partition(K, threads, t), sett_local_partition(sK, threads, t));
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, of);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sQ)), sett_make_fragment_B(mma, sett_partition_B(mine, sett_local_tile(sK, T(BN, BK), T(group, 0)))), acc, .overwrite = true); /* @1 read */
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    if (bug_twin)
        sett_barrier(b, 3, 256);
    sett_tensor *half = sett_smem_alias(sQ, SETT_F32, sett_row_major(b, 2, 8, 128)); /* 4 KB a group: eight values a thread */
    for (int i = 0; i < 8; i++)
        sett_set(half, sett_at(acc, i), group, i, of); /* @2 write */
    for (int i = 0; i < 8; i++)
        sett_set(acc, sett_mul(sett_at(half, group, i, of), 2), i);
    sett_store(sett_partition_C(mine, sett_local_tile(O, T(BM, BN), T(0, group))), sett_load(acc));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf Q = bug_in(SETT_F16, BM, BK), K = bug_in(SETT_F16, 2 * BN, BK), O = bug_out(SETT_F32, BM, 2 * BN);
    bug_launch(kernel, &Q, &K, &O);
    for (int i = 0; i < BM * 2 * BN; i++) {
        double sum = 0;
        for (int k = 0; k < BK; k++)
            sum += bug_get(&Q, i / (2 * BN) * BK + k) * bug_get(&K, i % (2 * BN) * BK + k);
        const int column = i % BN; /* the first eight values of a thread: two rows of two tiles of 8 columns */
        bug_expect(&O, i, column < 16 ? 2 * sum : sum);
    }
    return bug_close();
}
