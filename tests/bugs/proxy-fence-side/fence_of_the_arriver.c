/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence-side
 * missing: a warp that has loaded nothing fences for the one that has, and arrives
 * fix: sett_fence_view_async_shared(b) in the warp that loads, in front of the named barrier
 * Warp 1 loads, the two warps of the group meet, and warp 2 does the release, fence included. The fence is on the path from the loads to the
 * copy; but it is that of another thread. */
#include "bug.h"

enum { N = 32, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 96);
    sett_tensor *stage = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "stage"), *full = sett_slice(sett_make_mbarriers(b, 1), 0), *empty = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(full, 1);
        sett_mbarrier_init(empty, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(warp, 0)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_wait(empty, sett_sub(1, sett_mod(k, 2)));
            sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k, ALL), stage, full); /* @2 copy */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_wait(full, sett_mod(k, 2));
            sett_if (b, sett_eq(warp, 1))
                sett_set(Y, sett_neg(sett_at(stage, sett_xor(lane, 16))), k, lane); /* @1 read */
            if (bug_twin)
                sett_fence_view_async_shared(b);
            sett_barrier(b, 1, 64);
            sett_if (b, sett_eq(warp, 2)) /* the warp that arrives has loaded nothing */
                sett_if (b, sett_eq(lane, 0)) {
                    if (!bug_twin)
                        sett_fence_view_async_shared(b); /* @fence */
                    sett_mbarrier_arrive(empty);
                }
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, -bug_get(&x, i ^ 16));
    return bug_close();
}
