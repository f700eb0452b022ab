/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap
 * missing: a map that an earlier kernel wrote is not seen by this kernel's copies without an acquire of its own
 * fix: sett_fence_tma_desc_acquire(map) in the kernel that copies
 * One kernel makes the maps of all groups, the next one uses them. The end of a kernel makes what it wrote visible to loads; the tensormap
 * proxy is not acquired at a kernel's start. Seldom wrong on an H200: the addresses must have been used for maps before. */
#include "bug.h"

enum { ROWS = 4, N = 32, GROUPS = 2 };

static void make(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, GROUPS * ROWS, N), .align = 16), *maps = sett_param(b, "maps", SETT_U64, sett_row_major(b, GROUPS, 16), .align = 64);
    sett_grid(b, GROUPS), sett_block(b, 32);
    sett_tma *of = sett_make_tma(X, .layout = sett_row_major(b, ROWS, N), .tile = T(ROWS, N));
    sett_val *group = sett_block_idx(b, 0);
    sett_tensor *map = sett_slice(maps, group, ALL);
    sett_copy_tensormap(of, map);
    sett_update_tma_descriptor(of, map, .address = sett_address(X, sett_mul(sett_sub(GROUPS - 1, group), ROWS), 0)); /* @1 write */
    sett_fence_tma_desc_release(b);
}

static void use(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, GROUPS * ROWS, N), .align = 16), *maps = sett_param(b, "maps", SETT_U64, sett_row_major(b, GROUPS, 16), .align = 64);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, GROUPS * ROWS, N));
    sett_grid(b, GROUPS), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *of = sett_make_tma(X, .smem = s, .tile = T(ROWS, N));
    sett_val *group = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_tensor *map = sett_slice(maps, group, ALL);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(of));
    }
    sett_sync_warp(b);
    if (bug_twin)
        sett_fence_tma_desc_acquire(map);
    sett_tma_load(of, sett_local_tile(sett_tma_tensor(of), T(ROWS, N), T(0, 0)), s, full, .map = map); /* @2 copy */
    sett_mbarrier_wait(full, 0);
    for (int i = 0; i < ROWS; i++)
        sett_set(Y, sett_at(s, i, t), sett_add(sett_mul(group, ROWS), i), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, GROUPS * ROWS, N), y = bug_out(SETT_F32, GROUPS * ROWS, N), maps = bug_full(0, SETT_U64, GROUPS, 16);
    bug_launch(make, &x, &maps);
    bug_launch(use, &x, &maps, &y);
    for (int i = 0; i < GROUPS * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, (i + ROWS * N) % (GROUPS * ROWS * N)));
    return bug_close();
}
