/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | barrier-count
 * missing: the consumer's wait: it reads the stage of which it asked whether it is full, and does not look at the answer
 * fix: sett_consumer_wait(get, came)
 * try_wait was put in front of some other work, as one should; the wait that takes its answer was lost. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .consumers = SETT_WARPS(1), .tx_bytes = N * 4);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @1 copy */
            sett_pipeline_advance(put);
        }
        sett_producer_tail(put);
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_val *came = sett_consumer_try_wait(get);
            if (bug_twin)
                sett_consumer_wait(get, came);
            sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), k, lane); /* @2 read */
            sett_consumer_release(get);
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
