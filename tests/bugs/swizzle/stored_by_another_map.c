/* SPDX-License-Identifier: Apache-2.0 */
/* kind: swizzle
 * missing: one swizzle: the tile came by a map with one of 128 bytes, and goes out by a map without
 * fix: both maps of the tile's layout
 * A tile goes through shared memory from one matrix to another. The map of the load was made of the tile's layout, the map of the store of
 * plain rows. */
#include "bug.h"

enum { ROWS = 8, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, ROWS, N), 1024, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_layout *plain = sett_row_major(b, ROWS, N);
    sett_tma *in = sett_make_tma(X, .smem = s, .tile = T(ROWS, N)), *out = sett_make_tma(Y, .layout = bug_twin ? sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, ROWS, N) : plain, .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(in), .pred = sett_elect_one(b));
    sett_tma_load(in, sett_local_tile(sett_tma_tensor(in), T(ROWS, N), T(0, 0)), s, full); /* @1 copy */
    sett_mbarrier_wait(full, 0);
    sett_tma_store(out, bug_twin ? s : sett_smem_alias(s, SETT_F32, plain), sett_local_tile(sett_tma_tensor(out), T(ROWS, N), T(0, 0))); /* @2 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
