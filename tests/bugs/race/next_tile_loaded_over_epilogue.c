/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the epilogue's buffer lies over the last stage, which was released before the epilogue used it
 * fix: release the stage behind the epilogue
 * A persistent kernel: sums of a tile are turned around in shared memory that the ring has given up "because the tile is done". The producer
 * is a tile ahead by then, and loads the next tile's first rows there. */
#include "bug.h"

enum { N = 32, TILES = 4, STEPS = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES * STEPS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STEPS)), 128, .name = "ring"), *out = sett_smem_alias(sett_slice(ring, ALL, STEPS - 1), SETT_F32, sett_make_layout(b, N));
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STEPS, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES * STEPS, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, tile, 0, TILES, 1) {
            sett_set(sum, 0.0, 0);
            for (int i = 0; i < STEPS; i++) {
                sett_consumer_wait(get);
                sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, lane, sett_pipeline_stage(get))), 0);
                if (bug_twin && i == STEPS - 1)
                    continue;
                sett_consumer_release(get); /* @release */
                sett_pipeline_advance(get);
            }
            sett_sync_warp(b);
            sett_set(out, sett_at(sum, 0), lane); /* @1 write */
            sett_sync_warp(b);
            sett_set(Y, sett_at(out, sett_sub(N - 1, lane)), tile, lane); /* @1 read */
            if (bug_twin) {
                sett_consumer_release(get);
                sett_pipeline_advance(get);
            }
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES * STEPS, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++) {
        double sum = 0;
        for (int k = 0; k < STEPS; k++)
            sum += bug_get(&x, (i / N * STEPS + k) * N + N - 1 - i % N);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
