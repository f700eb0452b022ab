/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | deadlock
 * missing: the parity of a stage turns once a round of the ring, not once a tile
 * fix: sett_mod(sett_floordiv(k, STAGES), 2) in place of sett_mod(k, 2)
 * public: TileLang #3087
 * A ring of two stages. With k mod 2 each stage always waits for the same parity: stage 0 for 0, and stage 1 for 1, which counts as ended
 * before anything came. An H200 shows it at once where a stage is large. */
#include "bug.h"

enum { N = 64, TILES = 8, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *full = sett_make_mbarriers(b, STAGES);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < STAGES; i++)
            sett_mbarrier_init(sett_slice(full, i), 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_val *stage = sett_mod(k, STAGES), *right = sett_mod(sett_floordiv(k, STAGES), 2);
        sett_tensor *bar = sett_slice(full, stage);
        sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
            sett_mbarrier_arrive_and_expect_tx(bar, N * 4, .pred = sett_elect_one(b));
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, stage), bar); /* @1 copy */
        }
        sett_mbarrier_wait(bar, bug_twin ? right : sett_mod(k, 2)); /* @wait */
        sett_set(Y, sett_at(ring, t, stage), k, t); /* @2 read */
        sett_mbarrier_wait(bar, right);
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
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
