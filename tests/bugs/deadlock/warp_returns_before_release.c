/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: a warp whose rows lie past the end takes no part, and its releases are counted
 * fix: .consumers = the warps that take part, or all warps release
 * Of four consumer warps the last has no row in this tile and skips its loop. EMPTY waits for four. With a full tile all is right; the tile
 * at the edge hangs. */
#include "bug.h"

enum { N = 32, WARPS = 4, ROWS = 3, TILES = 4, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, WARPS * N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_grid(b, 1), sett_block(b, (WARPS + 1) * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(WARPS * N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = WARPS * N * 4, .consumers = SETT_WARPS(WARPS)); /* @2 init */
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_if (b, sett_eq(warp, WARPS)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 wait */
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put));
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_if (b, bug_twin ? sett_ge(warp, 0) : sett_lt(warp, ROWS))
            sett_for (b, k, 0, TILES, 1) {
                sett_consumer_wait(get);
                sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, sett_add(sett_mul(warp, N), lane), sett_pipeline_stage(get))), 0);
                sett_consumer_release(get); /* @2 arrive */
                sett_pipeline_advance(get);
            }
        sett_if (b, sett_lt(warp, ROWS))
            sett_set(Y, sett_at(sum, 0), warp, lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, WARPS * N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++) {
        double sum = 0;
        for (int k = 0; k < TILES; k++)
            sum += bug_get(&x, k * WARPS * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
