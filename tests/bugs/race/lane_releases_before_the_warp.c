/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: one lane arrives for its warp, and nothing says that the other lanes have loaded
 * fix: sett_sync_warp(b) in front of the arrival of the elected lane
 * `empty` counts warps. Each lane fences, and one lane arrives. Lanes of a warp need not run together: another lane may load behind the
 * arrival. On an H200 the loads of a warp are one instruction, and the compiler keeps it so, mostly. */
#include "bug.h"

enum { N = 32, TILES = 6, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), N);
            sett_mbarrier_init(sett_slice(empty, i), 1);
        }
    sett_sync_threads(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
        sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
            sett_mbarrier_wait(sett_slice(empty, stage), sett_sub(1, parity));
            sett_set(ring, sett_at(X, k, lane), lane, stage); /* @2 write */
            sett_mbarrier_arrive(sett_slice(full, stage));
        }
        sett_else (b) {
            sett_mbarrier_wait(sett_slice(full, stage), parity);
            sett_set(Y, sett_at(ring, sett_xor(lane, 5), stage), k, lane); /* @1 read */
            if (bug_twin)
                sett_sync_warp(b);
            sett_mbarrier_arrive(sett_slice(empty, stage), .pred = sett_eq(lane, 0)); /* @arrive */
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 5));
    return bug_close();
}
