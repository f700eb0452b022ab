/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence-side
 * missing: the producer fences behind its wait for `empty`, and the readers, whose loads are to be kept, do not
 * fix: sett_fence_view_async_shared(b) in each reader, in front of its arrival
 * public: DeepEP #642
 * One kernel's accepted cure of a copy that overwrote what was being loaded: a fence in the thread that issues the copy. It is one fence in
 * place of many, and no sentence of PTX says that it orders the loads of other threads. */
#include "bug.h"

enum { N = 32, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 64);
    sett_tensor *stage = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "stage"), *full = sett_slice(sett_make_mbarriers(b, 1), 0), *empty = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(full, 1);
        sett_mbarrier_init(empty, N);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_wait(empty, sett_sub(1, sett_mod(k, 2)));
            if (!bug_twin)
                sett_fence_view_async_shared(b); /* @fence */
            sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k, ALL), stage, full); /* @2 copy */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_wait(full, sett_mod(k, 2));
            sett_set(Y, sett_at(stage, lane), k, lane); /* @1 read */
            if (bug_twin)
                sett_fence_view_async_shared(b);
            sett_mbarrier_arrive(empty);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
