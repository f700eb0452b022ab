/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: an mbarrier is made again where there is one, without sett_mbarrier_inval
 * fix: sett_mbarrier_inval in front of the second init, or one init in front of the loop
 * A persistent loop makes its mbarrier at the head of each tile, so that parities begin at 0. PTX leaves undefined what an init does at the
 * place of a valid mbarrier. */
#include "bug.h"

enum { N = 32, TILES = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, k, 0, TILES, 1) {
        sett_if (b, sett_eq(t, 0)) {
            sett_mbarrier_init(full, 1); /* @1 init */
            sett_fence_mbarrier_init(b);
            sett_mbarrier_arrive_and_expect_tx(full, N * 4);
        }
        sett_sync_warp(b);
        sett_bulk_load(sett_slice(X, k, ALL), s, full);
        sett_mbarrier_wait(full, 0);
        sett_set(Y, sett_at(s, t), k, t);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        if (bug_twin)
            sett_if (b, sett_eq(t, 0))
                sett_mbarrier_inval(full);
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
