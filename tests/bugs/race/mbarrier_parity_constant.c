/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | deadlock
 * missing: from the second tile on the wait is for a phase that ended long ago
 * fix: the parity turns each round: sett_mbarrier_wait(full, sett_mod(k, 2))
 * public: TensorRT-LLM #15338
 * One mbarrier, a tile a round. The wait names parity 0 in each round: in odd rounds it ends while the tile is on its way. An H200 gives
 * right numbers when a whole round is slower than a copy. */
#include "bug.h"

enum { N = 32, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    for (int k = 0; k < TILES; k++) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_bulk_load(sett_slice(X, k, ALL), sett_slice(s, ALL, k % 2), full); /* @1 copy */
        sett_mbarrier_wait(full, bug_twin ? k % 2 : 0); /* @wait */
        sett_set(Y, sett_at(s, t, k % 2), k, t); /* @2 read */
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        if (!bug_twin && k % 2)
            sett_mbarrier_wait(full, 1); /* so that nothing else is wrong: the tile has come, too late */
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
