/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the producer rounds the number of tiles down, the consumer up
 * fix: sett_ceil_div on both sides
 * With whole tiles both count alike. An extent that the tile does not divide leaves the consumer waiting for a last tile that nobody
 * loads. */
#include "bug.h"

enum { TILE = 32, STAGES = 2, LENGTH = 100 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_val *L = sett_sym(b, "L", .div = 4);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 1, L), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE));
    sett_grid(b, 1), sett_block(b, 2 * TILE);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(1, TILE, STAGES), T(TILE, 1, TILE)), 128, .name = "ring");
    sett_tma *map = sett_make_tma(X, .smem = ring, .tile = T(1, TILE));
    sett_tensor *from = sett_local_tile(sett_tma_tensor(map), T(1, TILE), T(0, ALL));
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = sett_tma_bytes(map), .consumers = SETT_WARPS(1)); /* @2 init */
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_arg tiles = bug_twin ? sett_ceil_div(L, TILE) : SETT_A(sett_floordiv(L, TILE));
        sett_for (b, k, 0, tiles, 1) {
            sett_producer_acquire(put); /* @2 arrive */
            sett_tma_load(map, sett_slice(from, ALL, ALL, k), sett_slice(ring, ALL, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, sett_ceil_div(L, TILE), 1) {
            sett_consumer_wait(get); /* @1 wait */
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, 0, lane, sett_pipeline_stage(get))), 0);
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
        sett_set(Y, sett_at(sum, 0), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 1, LENGTH), y = bug_out(SETT_F32, TILE);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILE; i++) {
        double sum = 0;
        for (int k = i; k < LENGTH; k += TILE)
            sum += bug_get(&x, k);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
