/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race | deadlock
 * missing: the last stage of the loop is committed once more behind it
 * fix: no sett_producer_commit behind the loop
 * Behind its loop the producer "flushes" by a commit. It arrives at a stage that nobody has acquired, and whose phase needs one arrival:
 * the consumer of the next tile, of another producer, finds it full. */
#include "bug.h"

enum { N = 32, TILES = 6, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2 * TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = STAGES, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1)); /* @2 init */
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        for (int part = 0; part < 2; part++) {
            sett_for (b, k, 0, TILES, 1) {
                sett_producer_acquire(put); /* @2 wait */
                sett_set(ring, sett_at(X, sett_add(k, part * TILES), lane), lane, sett_pipeline_stage(put)); /* @2 write */
                sett_producer_commit(put); /* @2 arrive */
                sett_pipeline_advance(put);
            }
            if (!bug_twin && !part)
                sett_producer_commit(put); /* @1 arrive */
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, 2 * TILES, 1) {
            sett_consumer_wait(get); /* @2 wait */
            sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), k, lane); /* @1 read */
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2 * TILES, N), y = bug_out(SETT_F32, 2 * TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
