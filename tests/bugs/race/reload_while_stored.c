/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the bulk store of tile k still reads the buffer that the load of tile k + 1 writes
 * fix: sett_tma_store_wait_read(b, 0) in front of the next load
 * One warp copies tiles through shared memory, in place of a memcpy: load, wait, store, next. Load and store are of one proxy and of one
 * thread, and for all that not in order: both go on by themselves. */
#include "bug.h"

enum { N = 64, TILES = 5 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N), .align = 16);
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 1, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *from = sett_make_tma(X, .smem = s, .tile = T(1, N)), *to = sett_make_tma(Y, .smem = s, .tile = T(1, N));
    sett_tensor *source = sett_local_tile(sett_tma_tensor(from), T(1, N), T(ALL, 0)), *target = sett_local_tile(sett_tma_tensor(to), T(1, N), T(ALL, 0));
    sett_if (b, sett_elect_one(b)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(from), .pred = sett_elect_one(b));
        sett_tma_load(from, sett_slice(source, ALL, ALL, k), s, full); /* @2 copy */
        sett_mbarrier_wait(full, sett_mod(k, 2));
        sett_tma_store(to, s, sett_slice(target, ALL, ALL, sett_sub(TILES - 1, k))); /* @1 copy */
        sett_tma_store_commit(b);
        if (bug_twin)
            sett_tma_store_wait_read(b, 0);
    }
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, (TILES - 1 - i / N) * N + i % N));
    return bug_close();
}
