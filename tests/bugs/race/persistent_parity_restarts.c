/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | deadlock
 * missing: at the second tile of a persistent loop the readers' parity begins at 0 again, and the mbarrier goes on
 * fix: sett_pipeline_state_set is for states alike on both sides: leave both states as the tile before left them
 * A block takes tile after tile, and each goes once round a ring of two stages. The consumer sets its state back for each tile "so that it
 * starts clean", and waits for phases that ended in the tile before. With tiles of two rounds nothing would be wrong. */
#include "bug.h"

enum { N = 32, TILES = 2, STEPS = 2, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES * STEPS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES * STEPS, N));
    sett_grid(b, 1), sett_block(b, 64);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES * STEPS, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @1 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, tile, 0, TILES, 1) {
            if (!bug_twin)
                sett_pipeline_state_set(get, 0); /* @2 init */
            sett_for (b, step, 0, STEPS, 1) {
                sett_consumer_wait(get); /* @1 wait */
                sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), sett_add(sett_mul(tile, STEPS), step), lane); /* @2 read */
                sett_consumer_release(get);
                sett_pipeline_advance(get);
            }
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES * STEPS, N), y = bug_out(SETT_F32, TILES * STEPS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * STEPS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
