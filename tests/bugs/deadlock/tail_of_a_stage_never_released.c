/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the last product's stage is not released behind the loop, and the producer's tail waits for it
 * fix: a release behind the last sett_mma_wait
 * A consumer that releases a stage one round late owes one release behind its loop. Without a tail nobody asks for it; the kernel got one
 * when it got a cluster. */
#include "bug.h"

enum { N = 32, TILES = 5, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1)); /* @2 init */
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put));
            sett_pipeline_advance(put);
        }
        sett_producer_tail(put); /* @1 wait */
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe), *done = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, lane, sett_pipeline_stage(get))), 0);
            sett_if (b, sett_gt(k, 0)) {
                sett_consumer_release(done); /* @2 arrive */
                sett_pipeline_advance(done);
            }
            sett_pipeline_advance(get);
        }
        if (bug_twin)
            sett_consumer_release(done);
        sett_set(Y, sett_at(sum, 0), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < TILES; k++)
            sum += bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
