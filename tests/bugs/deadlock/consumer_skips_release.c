/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: tiles that the mask leaves out are not read, and their stages are not released either
 * fix: sett_consumer_release(get) outside of the branch
 * The consumer skips tiles that are fully masked, with all that belongs to them. The producer loads them all the same, and waits for a
 * stage that comes back never. Without masked tiles all is right. */
#include "bug.h"

enum { N = 32, TILES = 8, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 wait */
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put));
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @wait */
            sett_if (b, sett_ne(sett_mod(k, 3), 2)) {
                sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, lane, sett_pipeline_stage(get))), 0);
                if (!bug_twin)
                    sett_consumer_release(get); /* @2 arrive */
            }
            if (bug_twin)
                sett_consumer_release(get);
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
        for (int k = 0; k < TILES; k++)
            sum += k % 3 == 2 ? 0 : bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
