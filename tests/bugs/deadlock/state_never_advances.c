/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the consumer's state is not advanced where a tile is left out
 * fix: sett_pipeline_advance(get) in every round
 * The consumer takes the tiles of its own parity and lets the others pass, without advancing over them. It then waits at a stage whose
 * next phase needs the stage that it skipped. */
#include "bug.h"

enum { N = 32, TILES = 6, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = STAGES, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 wait */
            sett_set(ring, sett_at(X, k, lane), lane, sett_pipeline_stage(put));
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @1 wait */
            sett_if (b, sett_eq(sett_mod(k, 2), 0))
                sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, lane, sett_pipeline_stage(get))), 0);
            sett_consumer_release(get); /* @2 arrive */
            if (bug_twin)
                sett_pipeline_advance(get);
            else
                sett_if (b, sett_eq(sett_mod(k, 2), 0))
                    sett_pipeline_advance(get);
        }
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
        for (int k = 0; k < TILES; k += 2)
            sum += bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
