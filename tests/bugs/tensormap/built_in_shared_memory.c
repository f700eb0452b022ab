/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap | race
 * missing: a release of the map, which threads have copied from shared to global memory
 * fix: sett_fence_tma_desc_release(b) behind the copy
 * A map is changed in shared memory, where that is quick, and copied to global memory by the warp. The copy that uses it acquires; what it
 * acquires was never released. */
#include "bug.h"

enum { ROWS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_tensor *map = sett_param(b, "map", SETT_U64, sett_row_major(b, 16), .align = 64);
    sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tensor *draft = sett_make_smem_tensor(b, SETT_U64, 16, 128, .name = "draft");
    sett_tma *of = sett_make_tma(X, .smem = s, .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_copy_tensormap(of, draft);
        sett_update_tma_descriptor(of, draft, .address = sett_address(X, ROWS, 0));
        sett_sync_warp(b);
        sett_if (b, sett_lt(lane, 16))
            sett_set(map, sett_at(draft, lane), lane); /* @1 write */
        if (bug_twin)
            sett_sync_warp(b), sett_fence_tma_desc_release(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_fence_tma_desc_acquire(map);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(of), .pred = sett_elect_one(b));
        sett_tma_load(of, sett_local_tile(sett_tma_tensor(of), T(ROWS, N), T(0, 0)), s, full, .map = map); /* @2 copy */
        sett_mbarrier_wait(full, 0);
        for (int i = 0; i < ROWS; i++)
            sett_set(Y, sett_at(s, i, lane), i, lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2 * ROWS, N), y = bug_out(SETT_F32, ROWS, N), map = bug_full(0, SETT_U64, 16);
    bug_launch(kernel, &x, &y, &map);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, ROWS * N + i));
    return bug_close();
}
