/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: sett_mbarrier_expect_tx adds bytes and does not arrive: the phase's one arrival never comes
 * fix: sett_mbarrier_arrive_and_expect_tx
 * All bytes come, and the wait does not end. */
#include "bug.h"

enum { N = 32, TILES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, TILES)), 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1); /* @init */
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    for (int k = 0; k < TILES; k++) {
        if (bug_twin)
            sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        else
            sett_mbarrier_expect_tx(full, N * 4, .pred = sett_elect_one(b)); /* @2 arrive */
        sett_bulk_load(sett_slice(X, k, ALL), sett_slice(s, ALL, k), full);
        sett_mbarrier_wait(full, k % 2); /* @1 wait */
        sett_set(Y, sett_at(s, t, k), k, t);
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
