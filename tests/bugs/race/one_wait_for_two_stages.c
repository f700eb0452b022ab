/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the second stage of a pair is read behind the wait for the first
 * fix: sett_consumer_wait for each of the two stages
 * The consumer takes two tiles a round to have longer chains, and waits for the first of them: "the second was asked for before". Copies
 * complete in any order. */
#include "bug.h"

enum { N = 32, TILES = 8, STAGES = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES / 2, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @1 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe), *next = sett_pipeline_consumer_state(pipe);
        sett_pipeline_advance(next);
        sett_for (b, k, 0, TILES / 2, 1) {
            sett_consumer_wait(get); /* @wait */
            sett_val *x = sett_at(ring, lane, sett_pipeline_stage(get));
            if (bug_twin)
                sett_consumer_wait(next);
            sett_set(Y, sett_sub(x, sett_at(ring, lane, sett_pipeline_stage(next))), k, lane); /* @2 read */
            sett_consumer_wait(next); /* the stage is not given back before it came */
            sett_consumer_release(get);
            sett_consumer_release(next);
            for (int i = 0; i < 2; i++)
                sett_pipeline_advance(get), sett_pipeline_advance(next);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES / 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES / 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * 2 * N + i % N) - bug_get(&x, (i / N * 2 + 1) * N + i % N));
    return bug_close();
}
