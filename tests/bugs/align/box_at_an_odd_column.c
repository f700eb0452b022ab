/* SPDX-License-Identifier: Apache-2.0 */
/* kind: align
 * missing: a coordinate of the box that is a multiple of 16 bytes along the contiguous mode
 * fix: a shift of 4 columns
 * A window over a matrix by TMA, shifted by three columns of four bytes. A box begins at any row, and at columns that are multiples of
 * 16 bytes: what begins elsewhere is an illegal instruction on an H200. */
#include "bug.h"

enum { TILE = 32, N = 64 };

static void window(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILE, N), .align = 16), *O = sett_param(b, "O", SETT_I32, sett_row_major(b, 1));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE, TILE));
    sett_block(b, TILE);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, TILE, TILE), 1024);
    sett_tensor *bars = sett_make_mbarriers(b, 1), *bar = sett_slice(bars, 0);
    sett_tma *map = sett_make_tma(X, .smem = S, .tile = T(TILE, TILE));
    sett_val *t = sett_thread_idx(b, 0), *shift = sett_at(O, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(bar, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(bar, sett_tma_bytes(map), .pred = sett_eq(t, 0));
    sett_tma_load(map, sett_local_tile(sett_domain_offset(sett_tma_tensor(map), 0, shift), T(TILE, TILE), T(0, 0)), S, bar); /* @1 copy */
    sett_mbarrier_wait(bar, 0);
    sett_for (b, row, 0, TILE, 1)
        sett_set(Y, sett_at(S, row, t), row, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    const int shift = bug_twin ? 4 : 3;
    sett_buf x = bug_in(SETT_F32, TILE, N), o = bug_list(SETT_I32, shift), y = bug_out(SETT_F32, TILE, TILE);
    bug_launch(window, &x, &o, &y);
    for (int i = 0; i < TILE * TILE; i++)
        bug_expect(&y, i, bug_get(&x, i / TILE * N + shift + i % TILE));
    return bug_close();
}
