/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the stage is acquired behind the writes to it
 * fix: sett_producer_acquire and the barrier in front of the writes
 * A sett_pipeline_tma_store of two stages. The acquire stands where the store is issued, as a producer of loads would have it; but here
 * threads write the stage before. Right on an H200 as long as two stores are faster than a round. */
#include "bug.h"

enum { ROWS = 64, COLUMNS = 16, TILES = 6, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, COLUMNS * TILES), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, COLUMNS * TILES), .align = 16);
    sett_grid(b, 1), sett_block(b, ROWS);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, ROWS, COLUMNS, STAGES), 1024, .name = "ring");
    sett_tma *map = sett_make_tma(Y, .smem = ring, .tile = T(ROWS, COLUMNS));
    sett_tensor *to = sett_local_tile(sett_tma_tensor(map), T(ROWS, COLUMNS), T(0, ALL)), *from = sett_local_tile(X, T(ROWS, COLUMNS), T(0, ALL));
    sett_pipeline_state *put = sett_pipeline_producer_state(sett_pipeline_tma_store(b, .stages = STAGES));
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(sett_warp_idx(b), 0);
    sett_for (b, k, 0, TILES, 1) {
        if (bug_twin)
            sett_if (b, first)
                sett_producer_acquire(put);
        sett_sync_threads(b);
        sett_copy(sett_slice(from, t, ALL, k), sett_slice(ring, t, ALL, sett_pipeline_stage(put))); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, first) {
            if (!bug_twin)
                sett_producer_acquire(put); /* @wait */
            sett_tma_store(map, sett_slice(ring, ALL, ALL, sett_pipeline_stage(put)), sett_slice(to, ALL, ALL, k)); /* @1 copy */
            sett_producer_commit(put);
        }
        sett_pipeline_advance(put);
    }
    sett_if (b, first)
        sett_producer_tail(put);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, COLUMNS * TILES), y = bug_out(SETT_F32, ROWS, COLUMNS * TILES);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * COLUMNS * TILES; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
