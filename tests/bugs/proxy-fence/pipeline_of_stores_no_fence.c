/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: producers store a stage, and the consumer sends it off in bulk; the commit of sett_pipeline_async has no fence
 * fix: sett_fence_view_async_shared(b) in the producers, in front of sett_producer_commit
 * A pipeline of threads' stores whose consumer is a storing warp. The pipeline's mbarriers order threads, not the copy that the consumer
 * issues. */
#include "bug.h"

enum { N = 32, TILES = 5, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N), .align = 16);
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = STAGES, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1));
    sett_participants side = sett_make_participants(pipe);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_pipeline_state *to = sett_producer_acquire_and_advance(side.producer);
            sett_set(ring, sett_mul(sett_at(X, k, lane), 2), lane, sett_pipeline_stage(to)); /* @1 write */
            if (bug_twin)
                sett_fence_view_async_shared(b);
            sett_producer_commit(to); /* @arrive */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_pipeline_state *from = sett_consumer_wait_and_advance(side.consumer);
            sett_bulk_store(sett_slice(ring, ALL, sett_pipeline_stage(from)), sett_slice(Y, k, ALL)); /* @2 copy */
            sett_tma_store_commit(b);
            sett_tma_store_wait_read(b, 0);
            sett_consumer_release(from);
        }
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
