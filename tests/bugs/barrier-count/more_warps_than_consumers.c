/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race | deadlock
 * missing: three warps release each stage, and the pipeline was told of two
 * fix: .consumers = SETT_WARPS(3)
 * A warp was added to the readers and the group was not changed. A stage is empty after two of three releases, and the third one counts
 * for the next round. It takes many rounds on an H200 until a stage is overwritten too early. */
#include "bug.h"

enum { N = 32, ROWS = 3, TILES = 8, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, ROWS, N));
    sett_grid(b, 1), sett_block(b, (ROWS + 1) * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(ROWS, N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = STAGES, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(bug_twin ? ROWS : ROWS - 1)); /* @2 init */
    sett_val *lane = sett_lane_idx(b), *row = sett_warp_idx(b);
    sett_if (b, sett_eq(row, ROWS)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 wait */
            for (int i = 0; i < ROWS; i++)
                sett_set(ring, sett_at(X, k, i, lane), i, lane, sett_pipeline_stage(put)); /* @write */
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @1 wait */
            sett_set(Y, sett_at(ring, row, lane, sett_pipeline_stage(get)), k, row, lane); /* @read */
            sett_consumer_release(get); /* @1 arrive */
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, ROWS, N), y = bug_out(SETT_F32, TILES, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
