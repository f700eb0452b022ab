/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a value of the parity where the loop begins
 * fix: sett_var(b, SETT_I32, 0)
 * The parity of a wait is kept in a register that is turned behind each tile, and was set for the producer alone. */
#include "bug.h"

enum { N = 32, TILES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *parity = bug_twin ? sett_var(b, SETT_I32, 0) : sett_make_rmem_tensor(b, SETT_I32, 1); /* @alloc */
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_bulk_load(sett_slice(X, k, ALL), s, full);
        sett_mbarrier_wait(full, sett_and(sett_at(parity, 0), 1)); /* @1 read @1 wait */
        sett_set(parity, sett_xor(sett_at(parity, 0), 1), 0);
        sett_set(Y, sett_at(s, t), k, t);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
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
