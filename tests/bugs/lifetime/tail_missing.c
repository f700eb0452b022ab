/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: a producer whose copies go to the peer ends while the peer still releases stages to it
 * fix: sett_producer_tail(put) behind the loop
 * sett refuses it when the body has ended: in a cluster a producer that acquires has a tail, or a barrier of the cluster behind it. By hand
 * it is an arrival at shared memory of a block that is gone. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, TILES, N));
    sett_grid(b, 2), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .multicast = 1, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b), *rank = sett_block_idx_in_cluster(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put); /* @1 arrive */
            sett_if (b, sett_eq(rank, 0))
                sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put), .mask = sett_const(b, SETT_I32, 3));
            sett_pipeline_advance(put);
        }
        if (bug_twin)
            sett_producer_tail(put);
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), rank, k, lane);
            sett_consumer_release(get); /* @release */
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, 2, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i % (TILES * N)));
    return bug_close();
}
