/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: lanes have loaded from the stage by the generic proxy, and the arrival at `empty` does not order that with the copy
 * fix: sett_fence_view_async_shared(b) behind the loads, in front of the arrival
 * public: DeepEP #621
 * A ring with mbarriers of its own. All waits and arrivals are right; but a copy by the async proxy may overwrite what a load of the
 * generic proxy, though it stands before it, has yet to get. Wrong numbers were seen on GB200. */
#include "bug.h"

enum { N = 32, TILES = 8, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 64);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), 1);
            sett_mbarrier_init(sett_slice(empty, i), N);
        }
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
            sett_mbarrier_wait(sett_slice(empty, stage), sett_sub(1, parity));
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, stage), N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, stage), sett_slice(full, stage)); /* @2 copy */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
            sett_mbarrier_wait(sett_slice(full, stage), parity);
            sett_set(Y, sett_mul(sett_at(ring, lane, stage), 2), k, lane); /* @1 read */
            if (bug_twin)
                sett_fence_view_async_shared(b);
            sett_mbarrier_arrive(sett_slice(empty, stage)); /* @arrive */
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
