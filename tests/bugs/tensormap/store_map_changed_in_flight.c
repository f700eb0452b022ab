/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap | race
 * missing: the store of group g, which reads the map, may not have read it when the map is changed for group g + 1
 * fix: sett_tma_store_wait_read(b, 0) in front of the next change: PTX's .read covers the map as well as the source
 * public: DeepGEMM #343
 * One map in memory for the output of group after group. Each group has shared memory of its own, "so that nothing needs to be waited for".
 * The map is read in the background too. */
#include "bug.h"

enum { ROWS = 2, N = 32, GROUPS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, GROUPS * ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, GROUPS * ROWS, N), .align = 16);
    sett_tensor *map = sett_param(b, "map", SETT_U64, sett_row_major(b, 16), .align = 64);
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, GROUPS * ROWS, N), 128, .name = "s");
    sett_tma *of = sett_make_tma(Y, .layout = sett_row_major(b, ROWS, N), .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0);
    sett_copy_tensormap(of, map);
    for (int g = 0; g < GROUPS; g++) {
        sett_update_tma_descriptor(of, map, .address = sett_address(Y, (GROUPS - 1 - g) * ROWS, 0)); /* @2 write */
        sett_fence_tma_desc_release(b);
        sett_fence_tma_desc_acquire(map);
        for (int i = 0; i < ROWS; i++)
            sett_set(s, sett_at(X, g * ROWS + i, t), g * ROWS + i, t);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_tma_store(of, sett_local_tile(s, T(ROWS, N), T(g, 0)), sett_local_tile(sett_tma_tensor(of), T(ROWS, N), T(0, 0)), .map = map); /* @1 copy */
        sett_tma_store_commit(b);
        if (bug_twin)
            sett_tma_store_wait_read(b, 0);
        sett_sync_warp(b);
    }
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, GROUPS * ROWS, N), y = bug_out(SETT_F32, GROUPS * ROWS, N), map = bug_full(0, SETT_U64, 16);
    bug_launch(kernel, &x, &y, &map);
    for (int i = 0; i < GROUPS * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, (GROUPS - 1 - i / (ROWS * N)) * ROWS * N + i % (ROWS * N)));
    return bug_close();
}
