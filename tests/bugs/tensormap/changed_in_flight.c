/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap | race
 * missing: the load of group k, which reads the map, is still under way when the map is changed for group k + 1
 * fix: sett_mbarrier_wait for the load's bytes in front of the next sett_update_tma_descriptor
 * public: DeepGEMM #343
 * One map in memory serves group after group, with a stage for each group's tile so that loads overlap. A tile is loaded from the next
 * group's matrix if the map changes before the hardware has read it. */
#include "bug.h"

enum { ROWS = 4, N = 32, GROUPS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, GROUPS * ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, GROUPS * ROWS, N));
    sett_tensor *map = sett_param(b, "map", SETT_U64, sett_row_major(b, 16), .align = 64);
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, GROUPS * ROWS, N), 128, .name = "s"), *full = sett_make_mbarriers(b, GROUPS);
    sett_tma *of = sett_make_tma(X, .layout = sett_row_major(b, ROWS, N), .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        for (int g = 0; g < GROUPS; g++)
            sett_mbarrier_init(sett_slice(full, g), 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    sett_copy_tensormap(of, map);
    for (int g = 0; g < GROUPS; g++) {
        sett_update_tma_descriptor(of, map, .address = sett_address(X, g * ROWS, 0)); /* @2 write */
        sett_fence_tma_desc_release(b);
        sett_fence_tma_desc_acquire(map);
        sett_mbarrier_arrive_and_expect_tx(sett_slice(full, g), sett_tma_bytes(of), .pred = sett_elect_one(b));
        sett_tma_load(of, sett_local_tile(sett_tma_tensor(of), T(ROWS, N), T(0, 0)), sett_local_tile(s, T(ROWS, N), T(g, 0)), sett_slice(full, g), .map = map); /* @1 copy */
        if (bug_twin)
            sett_mbarrier_wait(sett_slice(full, g), 0);
        sett_sync_warp(b);
    }
    for (int g = 0; g < GROUPS; g++) {
        sett_mbarrier_wait(sett_slice(full, g), 0);
        for (int i = g * ROWS; i < (g + 1) * ROWS; i++)
            sett_set(Y, sett_at(s, i, t), i, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, GROUPS * ROWS, N), y = bug_out(SETT_F32, GROUPS * ROWS, N), map = bug_full(0, SETT_U64, 16);
    bug_launch(kernel, &x, &y, &map);
    for (int i = 0; i < GROUPS * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
