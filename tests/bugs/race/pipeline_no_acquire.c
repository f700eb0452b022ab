/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | barrier-count
 * missing: the producer does not wait until the consumers have released the stage
 * fix: the wait for `empty` in front of the copy, in each round
 * A producer warp loads a tile a round to a ring of its own mbarriers, and asks for `empty` only while the ring fills for the first time,
 * when all stages are. From the second round of the ring on it overwrites what is still read. */
#include "bug.h"

enum { N = 32, TILES = 12, STAGES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), 1); /* @2 init */
            sett_mbarrier_init(sett_slice(empty, i), N);
        }
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *round = sett_floordiv(k, STAGES);
            sett_if (b, bug_twin ? sett_ge(k, 0) : sett_lt(k, STAGES))
                sett_mbarrier_wait(sett_slice(empty, stage), sett_sub(1, sett_mod(round, 2))); /* @wait */
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, stage), N * 4, .pred = sett_elect_one(b)); /* @1 arrive */
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, stage), sett_slice(full, stage)); /* @1 copy */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *round = sett_floordiv(k, STAGES);
            sett_mbarrier_wait(sett_slice(full, stage), sett_mod(round, 2));
            sett_set(Y, sett_at(ring, sett_sub(N - 1, lane), stage), k, lane); /* @2 read */
            sett_fence_view_async_shared(b);
            sett_mbarrier_arrive(sett_slice(empty, stage));
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
