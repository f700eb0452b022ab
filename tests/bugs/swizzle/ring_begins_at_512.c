/* SPDX-License-Identifier: Apache-2.0 */
/* kind: swizzle | align
 * missing: the pattern of a swizzle of 128 bytes begins at multiples of 1024 bytes; the tile begins at 512
 * fix: an alignment of 1024 for each tensor that is swizzled
 * The exchange of pieces goes by bits of the address in shared memory. A tile that begins elsewhere is written by TMA in an order that its
 * layout does not have. sett refuses the kernel; by hand it gives a wrong product on an H200. */
#include "bug.h"

enum { ROWS = 8, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *head = sett_make_smem_tensor(b, SETT_F32, 128, 512, .name = "head");
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, ROWS, N), bug_twin ? 1024 : 512, .name = "s"); /* @alloc */
    sett_tensor *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *map = sett_make_tma(X, .smem = s, .tile = T(ROWS, N)); /* @1 init */
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(head, 1.0, t);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(map));
    }
    sett_sync_warp(b);
    sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(ROWS, N), T(0, 0)), s, full); /* @1 copy */
    sett_mbarrier_wait(full, 0);
    for (int i = 0; i < ROWS; i++)
        sett_set(Y, sett_add(sett_at(s, i, t), sett_at(head, t)), i, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i) + 1);
    return bug_close();
}
