/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the epilogue waits for a phase more than the producer gives
 * fix: no sett_consumer_wait behind the loop
 * Behind the loop the consumer waits for its state once more, "to drain". The state stands at the stage that would come next, which nobody
 * will fill. */
#include "bug.h"

enum { N = 32, TILES = 6, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_cp_async(b, .stages = STAGES, .producers = SETT_THREADS(N), .consumers = SETT_WARPS(1)); /* @2 init */
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_cp_async(sett_local_tile(sett_slice(X, k, ALL), T1(1), T1(lane)), sett_local_tile(sett_slice(ring, ALL, sett_pipeline_stage(put)), T1(1), T1(lane)));
            sett_producer_commit(put); /* @2 arrive */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, lane, sett_pipeline_stage(get))), 0);
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
        if (!bug_twin)
            sett_consumer_wait(get); /* @1 wait */
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
