/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the store that has just been issued reads the stage that is loaded again, and it is the one that may be pending
 * fix: sett_tma_store_wait_read(b, 0), or load the stage of the round before in place of this one's
 * public: DeepEP #657
 * A copy by TMA through two stages: wait for the load, store, and load the next but one tile to the same stage. wait(STAGES - 1) leaves one
 * store pending, and there is no other one yet. The bytes of a tile two further on may go out in place of this one's. */
#include "bug.h"

enum { N = 64, TILES = 8, STAGES = 2 };

static void load(sett_tensor *X, sett_tensor *ring, sett_tensor *full, sett_build *b, int k)
{
    sett_mbarrier_arrive_and_expect_tx(sett_slice(full, k % STAGES), N * 4, .pred = sett_elect_one(b));
    sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, k % STAGES), sett_slice(full, k % STAGES)); /* @2 copy */
}

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N), .align = 16);
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES);
    sett_if (b, sett_elect_one(b)) {
        for (int i = 0; i < STAGES; i++)
            sett_mbarrier_init(sett_slice(full, i), 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    for (int k = 0; k < STAGES; k++)
        load(X, ring, full, b, k);
    for (int k = 0; k < TILES; k++) {
        sett_mbarrier_wait(sett_slice(full, k % STAGES), k / STAGES % 2);
        sett_bulk_store(sett_slice(ring, ALL, k % STAGES), sett_slice(Y, k, ALL)); /* @1 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait_read(b, bug_twin ? 0 : STAGES - 1); /* @wait */
        if (k + STAGES < TILES)
            load(X, ring, full, b, k + STAGES);
    }
    sett_tma_store_wait(b, 0);
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
