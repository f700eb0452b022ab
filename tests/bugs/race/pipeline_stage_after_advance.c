/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the state was advanced before the stage was read, so it is the next stage that is read, for which nobody has waited
 * fix: sett_pipeline_advance(get) behind the use of sett_pipeline_stage(get)
 * A consumer of TMA tiles waits, advances and then slices the ring by the state: one stage too far. The stage that it waited for it
 * releases never read. */
#include "bug.h"

enum { N = 32, TILES = 9, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 64);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *mine = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @wait */
            sett_pipeline_state *read = get;
            if (bug_twin) {
                sett_set(mine, sett_at(ring, lane, sett_pipeline_stage(read)), 0);
                sett_consumer_release(get);
            } else {
                sett_consumer_release(get);
                sett_pipeline_advance(get);
                sett_set(mine, sett_at(ring, lane, sett_pipeline_stage(read)), 0); /* @1 read */
            }
            sett_set(Y, sett_at(mine, 0), k, lane);
            if (bug_twin)
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
