/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the consumer waits at the block's barrier for the producer, and the producer at `empty` for the consumer
 * fix: a named barrier of the consumers alone
 * Consumers meet once a round to exchange a maximum, by sett_sync_threads. The producer warp meets them too, behind its loads; with a ring of
 * fewer stages than it loads ahead it never gets there. */
#include "bug.h"

enum { N = 32, ROUNDS = 2, EACH = 3, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS * EACH, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS * EACH, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_participants side = sett_make_participants(pipe);
    sett_val *lane = sett_lane_idx(b);
    sett_for (b, round, 0, ROUNDS, 1) {
        sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
            sett_for (b, i, 0, EACH, 1) {
                sett_pipeline_state *to = sett_producer_acquire_and_advance(side.producer); /* @1 wait */
                sett_bulk_load(sett_slice(X, sett_add(sett_mul(round, EACH), i), ALL), sett_slice(ring, ALL, sett_pipeline_stage(to)), sett_pipeline_barrier(to));
            }
            if (!bug_twin)
                sett_sync_threads(b);
        }
        sett_else (b) {
            if (!bug_twin)
                sett_sync_threads(b); /* @2 barrier */
            else
                sett_barrier(b, 1, N);
            sett_for (b, i, 0, EACH, 1) {
                sett_pipeline_state *from = sett_consumer_wait_and_advance(side.consumer);
                sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(from)), sett_add(sett_mul(round, EACH), i), lane);
                sett_consumer_release(from); /* @arrive */
            }
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS * EACH, N), y = bug_out(SETT_F32, ROUNDS * EACH, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * EACH * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
