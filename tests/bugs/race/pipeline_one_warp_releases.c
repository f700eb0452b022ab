/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: warps 2 and 3 read the stage as well, and nobody waits for them
 * fix: .consumers = SETT_WARPS(3), and the release in all three warps
 * Three warps read what one loads by TMA, and the first of the three releases "for all". What the other two have yet to read is
 * overwritten. Three warps in step hide it on an H200. */
#include "bug.h"

enum { ROWS = 3, N = 32, TILES = 8, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES * ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES * ROWS, N));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(ROWS, N, STAGES), T(N, 1, ROWS * N)), 128, .name = "ring");
    sett_tma *map = sett_make_tma(X, .smem = ring, .tile = T(ROWS, N));
    sett_tensor *from = sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(ALL, 0));
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = sett_tma_bytes(map), .consumers = SETT_WARPS(bug_twin ? ROWS : 1));
    sett_val *lane = sett_lane_idx(b), *row = sett_sub(sett_warp_idx(b), 1);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_tma_load(map, sett_slice(from, ALL, ALL, k), sett_slice(ring, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(Y, sett_at(ring, row, lane, sett_pipeline_stage(get)), sett_add(sett_mul(k, ROWS), row), lane); /* @1 read */
            sett_if (b, bug_twin ? sett_ge(row, 0) : sett_eq(row, 0))
                sett_consumer_release(get); /* @release */
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES * ROWS, N), y = bug_out(SETT_F32, TILES * ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
