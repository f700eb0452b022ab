/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap
 * missing: the block that waits for the flag copies by the map without having acquired it
 * fix: sett_fence_tma_desc_acquire(map) behind the flag, in the warp that copies
 * Block 0 makes the map of a group for all blocks and sets a flag by a release; the others wait by an acquire. Release and acquire of the
 * flag are of memory as loads see it. The maps' proxy needs an acquire of its own, of this very map. */
#include "bug.h"

enum { ROWS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_tensor *map = sett_param(b, "map", SETT_U64, sett_row_major(b, 16), .align = 64), *flag = sett_param(b, "flag", SETT_I32, sett_row_major(b, 1));
    sett_grid(b, 2), sett_block(b, N), sett_cooperative(b);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *of = sett_make_tma(X, .smem = s, .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_copy_tensormap(of, map);
        sett_update_tma_descriptor(of, map, .address = sett_address(X, ROWS, 0)); /* @1 write */
        sett_fence_tma_desc_release(b);
        sett_sync_warp(b);
        sett_if (b, sett_eq(t, 0))
            sett_atomic_ordered(flag, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
    sett_else (b) {
        sett_if (b, sett_eq(t, 0)) {
            sett_mbarrier_init(full, 1);
            sett_fence_mbarrier_init(b);
            sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(of));
            sett_while (b, sett_eq(sett_atomic_ordered(flag, SETT_ATOMIC_OR, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0)) {}
        }
        sett_sync_warp(b);
        if (bug_twin)
            sett_fence_tma_desc_acquire(map);
        sett_tma_load(of, sett_local_tile(sett_tma_tensor(of), T(ROWS, N), T(0, 0)), s, full, .map = map); /* @2 copy */
        sett_mbarrier_wait(full, 0);
        for (int i = 0; i < ROWS; i++)
            sett_set(Y, sett_at(s, i, t), i, t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2 * ROWS, N), y = bug_out(SETT_F32, ROWS, N), map = bug_full(0, SETT_U64, 16), flag = bug_full(0, SETT_I32, 1);
    bug_launch(kernel, &x, &y, &map, &flag);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, ROWS * N + i));
    return bug_close();
}
