/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | deadlock
 * missing: the phase waits for 64 arrivals, and one lane of each of two warps arrives
 * fix: sett_mbarrier_init(empty, 2)
 * `empty` counts threads, and the release is by one lane a warp. The ring fills once and then the producer waits for ever. With as few
 * tiles as stages nothing is seen. */
#include "bug.h"

enum { N = 64, TILES = 5, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N + 32);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), 1);
            sett_mbarrier_init(sett_slice(empty, i), bug_twin ? N / 32 : N); /* @2 init */
        }
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_ge(t, N)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
            sett_mbarrier_wait(sett_slice(empty, stage), sett_sub(1, parity)); /* @1 wait */
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, stage), N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, stage), sett_slice(full, stage));
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
            sett_mbarrier_wait(sett_slice(full, stage), parity); /* @1 wait */
            sett_set(Y, sett_at(ring, t, stage), k, t);
            sett_fence_view_async_shared(b);
            sett_sync_warp(b);
            sett_mbarrier_arrive(sett_slice(empty, stage), .pred = sett_elect_one(b)); /* @arrive */
        }
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
