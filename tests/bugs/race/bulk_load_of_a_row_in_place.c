/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a block loads its neighbour's row in bulk while the neighbour stores its result to the same row
 * fix: the result goes to another tensor, or the grid meets between the loads and the stores
 * A stencil in place. Each block needs the row above as it was, which is the row that the block above overwrites. */
#include "bug.h"

enum { N = 32, ROWS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N), .align = 16);
    sett_grid(b, ROWS), sett_block(b, N);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 2, N), 16, .name = "two"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *above = sett_max(sett_sub(m, 1), 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, 2 * N * 4);
    }
    sett_sync_warp(b);
    sett_bulk_load(sett_slice(X, above, ALL), sett_slice(two, 0, ALL), full); /* @1 copy */
    sett_bulk_load(sett_slice(X, m, ALL), sett_slice(two, 1, ALL), full);
    sett_mbarrier_wait(full, 0);
    sett_set(bug_twin ? Y : X, sett_add(sett_at(two, 0, t), sett_mul(sett_at(two, 1, t), 2)), m, t); /* @2 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N), *result = bug_twin ? &y : &x;
    double was[ROWS * N];
    for (int i = 0; i < ROWS * N; i++)
        was[i] = bug_get(&x, i);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(result, i, was[i < N ? i : i - N] + 2 * was[i]);
    return bug_close();
}
