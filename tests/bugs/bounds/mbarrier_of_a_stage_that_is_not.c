/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds | init
 * missing: the wrap of the index: mbarriers are for 2 stages, and the third tile uses the third
 * fix: sett_mod(k, STAGES)
 * The tile's slot wraps, its mbarrier does not. What lies behind the last mbarrier is other shared memory. */
#include "bug.h"

enum { N = 32, TILES = 3, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "s"), *full = sett_make_mbarriers(b, STAGES); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        for (int k = 0; k < STAGES; k++)
            sett_mbarrier_init(sett_slice(full, k), 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_val *at = sett_mod(k, STAGES);
        sett_tensor *bar = sett_slice(full, bug_twin ? at : k);
        sett_mbarrier_arrive_and_expect_tx(bar, N * 4, .pred = sett_elect_one(b)); /* @1 arrive */
        sett_bulk_load(sett_slice(X, k, ALL), sett_slice(s, ALL, at), bar); /* @1 copy */
        sett_mbarrier_wait(bar, sett_mod(sett_floordiv(k, STAGES), 2)); /* @1 wait */
        sett_set(Y, sett_at(s, t, at), k, t);
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
