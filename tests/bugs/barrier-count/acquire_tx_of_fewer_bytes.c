/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race | lifetime
 * missing: the last tile expects the bytes of one copy, and two are made
 * fix: sett_producer_acquire_tx with the bytes of the copies that follow
 * Stages of two rows; the last one should have one row alone, and the producer says so, but copies both. The phase ends when half of the
 * bytes are there, of whichever row. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 2, LAST = TILES - 1 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2 * TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = 2 * N * 4, .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_val *rows = sett_where(sett_lt(k, LAST), 2, 1);
            sett_producer_acquire_tx(put, sett_mul(rows, N * 4)); /* @1 arrive */
            for (int i = 0; i < 2; i++)
                sett_if (b, bug_twin ? sett_lt(i, rows) : sett_ge(rows, 1))
                    sett_bulk_load(sett_slice(X, sett_add(sett_mul(k, 2), i), ALL), sett_slice(ring, ALL, i, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get); /* @wait */
            for (int i = 0; i < 2; i++)
                sett_if (b, sett_lt(i, sett_where(sett_lt(k, LAST), 2, 1)))
                    sett_set(Y, sett_at(ring, lane, i, sett_pipeline_stage(get)), sett_add(sett_mul(k, 2), i), lane); /* @read */
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2 * TILES, N), y = bug_full(9, SETT_F32, 2 * TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * TILES * N; i++)
        bug_expect(&y, i, i / N == 2 * TILES - 1 ? 9 : bug_get(&x, i));
    return bug_close();
}
