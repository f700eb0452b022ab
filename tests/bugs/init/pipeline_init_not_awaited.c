/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: a pipeline with .defer_sync is used before the threads have met
 * fix: sett_pipeline_init_arrive(b) and sett_pipeline_init_wait(b) behind the last pipeline that is made
 * Two pipelines share one meeting, which was taken out with the second one. Warp 1 may ask an mbarrier that thread 0 has not made yet. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1), .defer_sync = true); /* @1 init */
    if (bug_twin) {
        sett_pipeline_init_arrive(b);
        sett_pipeline_init_wait(b);
    }
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @2 wait */
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @2 wait */
            sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), k, lane);
            sett_consumer_release(get); /* @2 arrive */
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
