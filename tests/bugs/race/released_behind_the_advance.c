/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | deadlock | barrier-count
 * missing: the release of the stage that was read: the state was advanced in front of it
 * fix: sett_consumer_release(get) in front of sett_pipeline_advance(get)
 * Advance and release changed places when the loop was tidied up. The consumer releases the stage that comes next, which it has yet to read. */
#include "bug.h"

enum { N = 32, TILES = 6, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = STAGES, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 wait */
            sett_set(ring, sett_at(X, k, lane), lane, sett_pipeline_stage(put)); /* @2 write */
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(Y, sett_at(ring, sett_xor(lane, 1), sett_pipeline_stage(get)), k, lane); /* @1 read */
            if (bug_twin)
                sett_consumer_release(get);
            sett_pipeline_advance(get);
            if (!bug_twin)
                sett_consumer_release(get); /* @2 release */
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 1));
    return bug_close();
}
