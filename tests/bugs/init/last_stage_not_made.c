/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: the mbarrier of the last stage was never made
 * fix: a loop to STAGES, not to STAGES - 1
 * The loop of the inits ends one too early. Inputs of up to three tiles are right. With a fourth one an H200 hangs, or goes on at once,
 * as old contents of shared memory have it. */
#include "bug.h"

enum { N = 32, STAGES = 4, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16, .name = "ring"), *full = sett_make_mbarriers(b, STAGES); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < (bug_twin ? STAGES : STAGES - 1); i++)
            sett_mbarrier_init(sett_slice(full, i), 1); /* @init */
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_val *stage = sett_mod(k, STAGES);
        sett_mbarrier_arrive_and_expect_tx(sett_slice(full, stage), N * 4, .pred = sett_elect_one(b)); /* @1 arrive */
        sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, stage), sett_slice(full, stage)); /* @1 copy */
        sett_mbarrier_wait(sett_slice(full, stage), sett_mod(sett_floordiv(k, STAGES), 2)); /* @1 wait */
        sett_set(Y, sett_at(ring, t, stage), k, t);
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
