/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: one group may be pending behind the wait, and it is the one that reads the stage which is released
 * fix: release the stage before, by a state of its own, or sett_mma_wait(b, 0)
 * "One product stays in flight" means that the stage of the product before may be released, not the newest one. The wait and the release
 * name different products here. Wrong numbers on an H200 only if the loader is waiting for the stage. */
#include "bug.h"

enum { BM = 64, BN = 32, BK = 64, STAGES = 2, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, BM, TILES * BK), .align = 16), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, BN, TILES * BK), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128 + 32);
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK, STAGES), 1024, .name = "sA");
    sett_tensor *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK, STAGES), 1024, .name = "sB");
    sett_tma *ta = sett_make_tma(A, .smem = sA, .tile = T(BM, BK)), *tb = sett_make_tma(B, .smem = sB, .tile = T(BN, BK));
    sett_tensor *gA = sett_local_tile(sett_tma_tensor(ta), T(BM, BK), T(0, ALL)), *gB = sett_local_tile(sett_tma_tensor(tb), T(BN, BK), T(0, ALL));
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = sett_tma_bytes(ta) + sett_tma_bytes(tb), .consumers = SETT_WARP_GROUPS(1));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_ge(t, 128)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_tma_load(ta, sett_slice(gA, ALL, ALL, k), sett_slice(sA, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_tma_load(tb, sett_slice(gB, ALL, ALL, k), sett_slice(sB, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN), T(1, 1, 1), ALL);
        sett_thr_mma *mine = sett_get_slice(mma, t);
        sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe), *done = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_tensor *fA = sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(sA, ALL, ALL, sett_pipeline_stage(get))));
            sett_tensor *fB = sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(sB, ALL, ALL, sett_pipeline_stage(get))));
            sett_gemm(mma, acc, fA, fB, acc, .accumulate = sett_gt(k, 0)); /* @1 read */
            sett_mma_commit(b);
            sett_mma_wait(b, 1); /* @wait */
            if (bug_twin) {
                sett_if (b, sett_gt(k, 0)) {
                    sett_consumer_release(done);
                    sett_pipeline_advance(done);
                }
            } else
                sett_consumer_release(get); /* @release */
            sett_pipeline_advance(get);
        }
        sett_mma_wait(b, 0);
        sett_store(sett_partition_C(mine, C), sett_load(acc));
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F16, BM, TILES * BK), B = bug_in(SETT_F16, BN, TILES * BK), C = bug_out(SETT_F32, BM, BN);
    bug_launch(kernel, &A, &B, &C);
    for (int i = 0; i < BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < TILES * BK; k++)
            sum += bug_get(&A, i / BN * TILES * BK + k) * bug_get(&B, i % BN * TILES * BK + k);
        bug_expect(&C, i, sum);
    }
    return bug_close();
}
