/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap
 * missing: the copy may still use the tensor map as it was before it was changed
 * fix: sett_fence_tma_desc_acquire(map) in the warp that copies
 * public: CUTLASS #2162
 * A grouped copy makes a tensor map for its group, releases it and copies by it. Maps are read by a proxy of their own, which may have the
 * old one. On an H200 the first group is right, and later ones now and then are the group before. */
#include "bug.h"

enum { ROWS = 8, N = 32, GROUPS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, GROUPS * ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, GROUPS * ROWS, N));
    sett_tensor *maps = sett_param(b, "maps", SETT_U64, sett_row_major(b, GROUPS, 16), .align = 64);
    sett_grid(b, GROUPS), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *of = sett_make_tma(X, .smem = s, .tile = T(ROWS, N));
    sett_val *group = sett_block_idx(b, 0), *first = sett_mul(group, ROWS), *t = sett_thread_idx(b, 0);
    sett_tensor *map = sett_slice(maps, group, ALL);
    sett_copy_tensormap(of, map); /* @1 write */
    sett_update_tma_descriptor(of, map, .address = sett_address(X, first, 0), .shape = T(ROWS, N), .stride = T(N, 1)); /* @1 write */
    sett_fence_tma_desc_release(b);
    if (bug_twin)
        sett_fence_tma_desc_acquire(map);
    sett_if (b, sett_elect_one(b)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(of));
    }
    sett_sync_warp(b);
    sett_tma_load(of, sett_local_tile(sett_tma_tensor(of), T(ROWS, N), T(0, 0)), s, full, .map = map); /* @2 copy */
    sett_mbarrier_wait(full, 0);
    for (int i = 0; i < ROWS; i++)
        sett_set(Y, sett_at(s, i, t), sett_add(first, i), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, GROUPS * ROWS, N), y = bug_out(SETT_F32, GROUPS * ROWS, N), maps = bug_full(0, SETT_U64, GROUPS, 16);
    bug_launch(kernel, &x, &y, &maps);
    for (int i = 0; i < GROUPS * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
