/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the second half of a stage is written behind its commit
 * fix: sett_producer_commit(put) behind both stores
 * A producer writes a stage in two halves, and commits between them. The consumers then read the second half of the tile before. An H200
 * shows it when the consumers wait for the producer, which is most of the time. */
#include "bug.h"

enum { N = 32, TILES = 8, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, 2 * N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(2 * N, STAGES)), 16, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = STAGES, .producers = SETT_THREADS(N), .consumers = SETT_THREADS(N));
    sett_participants side = sett_make_participants(pipe);
    sett_val *lane = sett_lane_idx(b), *second = sett_add(lane, N);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_pipeline_state *to = sett_producer_acquire_and_advance(side.producer);
            sett_set(ring, sett_at(X, k, lane), lane, sett_pipeline_stage(to));
            if (!bug_twin)
                sett_producer_commit(to); /* @arrive */
            sett_set(ring, sett_at(X, k, second), second, sett_pipeline_stage(to)); /* @1 write */
            if (bug_twin)
                sett_producer_commit(to);
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_pipeline_state *from = sett_consumer_wait_and_advance(side.consumer);
            sett_tensor *stage = sett_slice(ring, ALL, sett_pipeline_stage(from));
            sett_val *a = sett_at(stage, lane), *c = sett_at(stage, second); /* @2 read */
            sett_set(Y, sett_sub(a, c), k, lane);
            sett_consumer_release(from);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, 2 * N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * 2 * N + i % N) - bug_get(&x, i / N * 2 * N + i % N + N));
    return bug_close();
}
