/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: FULL counts the bytes of TMA; the scales that the producer warp stores itself belong to nothing that it waits for
 * fix: an arrival of the producer's lanes behind their stores: FULL of 1 + 32 arrivals
 * A stage has a tile, which comes in bulk, and its scales, which the producer's lanes compute and store. The consumers wait for the bytes
 * alone. On an H200 the scales, which need no trip to memory, are there first. */
#include "bug.h"

enum { N = 32, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *S = sett_param(b, "S", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, TILES)), 128, .name = "tile"), *scale = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, TILES)), 128, .name = "scale");
    sett_tensor *full = sett_make_mbarriers(b, TILES);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        for (int k = 0; k < TILES; k++)
            sett_mbarrier_init(sett_slice(full, k), bug_twin ? 1 + N : 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, k), N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(tile, ALL, k), sett_slice(full, k));
            sett_set(scale, sett_mul(sett_at(S, k, lane), 2), lane, k); /* @1 write */
            if (bug_twin)
                sett_mbarrier_arrive(sett_slice(full, k));
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_wait(sett_slice(full, k), 0); /* @wait */
            sett_set(Y, sett_mul(sett_at(tile, lane, k), sett_at(scale, sett_sub(N - 1, lane), k)), k, lane); /* @2 read */
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), s = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &s, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i) * bug_get(&s, i / N * N + N - 1 - i % N));
    return bug_close();
}
