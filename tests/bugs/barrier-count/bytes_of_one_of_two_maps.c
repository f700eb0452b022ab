/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race
 * missing: a stage has a tile of A and one of B, and expects the bytes of A alone
 * fix: .tx_bytes = sett_tma_bytes(ta) + sett_tma_bytes(tb)
 * public: mirage #705
 * The phase ends when as many bytes have come as A has, whichever they are; the rest arrives at the next phase. An H200 gives wrong numbers
 * or hangs, by which copy is the faster one. */
#include "bug.h"

enum { ROWS = 8, N = 32, TILES = 4, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, ROWS * TILES, N), .align = 16), *B = sett_param(b, "B", SETT_F32, sett_row_major(b, ROWS * TILES, N), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS * TILES, N));
    sett_grid(b, 1), sett_block(b, ROWS * N + 32);
    sett_layout *l = sett_make_layout(b, T(ROWS, N, STAGES), T(N, 1, ROWS * N));
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F32, l, 128, .name = "sA"), *sB = sett_make_smem_tensor(b, SETT_F32, l, 128, .name = "sB");
    sett_tma *ta = sett_make_tma(A, .smem = sA, .tile = T(ROWS, N)), *tb = sett_make_tma(B, .smem = sB, .tile = T(ROWS, N));
    sett_tensor *gA = sett_local_tile(sett_tma_tensor(ta), T(ROWS, N), T(ALL, 0)), *gB = sett_local_tile(sett_tma_tensor(tb), T(ROWS, N), T(ALL, 0));
    const int bytes = bug_twin ? sett_tma_bytes(ta) + sett_tma_bytes(tb) : sett_tma_bytes(ta);
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = bytes, .consumers = SETT_WARPS(ROWS)); /* @1 init */
    sett_val *row = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(row, ROWS)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 arrive */
            sett_tma_load(ta, sett_slice(gA, ALL, ALL, k), sett_slice(sA, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_tma_load(tb, sett_slice(gB, ALL, ALL, k), sett_slice(sB, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @wait */
            sett_val *stage = sett_pipeline_stage(get);
            sett_set(Y, sett_add(sett_at(sA, row, lane, stage), sett_at(sB, row, lane, stage)), sett_add(sett_mul(k, ROWS), row), lane); /* @1 read */
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf A = bug_in(SETT_F32, ROWS * TILES, N), B = bug_in(SETT_F32, ROWS * TILES, N), y = bug_out(SETT_F32, ROWS * TILES, N);
    bug_launch(kernel, &A, &B, &y);
    for (int i = 0; i < ROWS * TILES * N; i++)
        bug_expect(&y, i, bug_get(&A, i) + bug_get(&B, i));
    return bug_close();
}
