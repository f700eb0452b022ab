/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds | race | uninit
 * missing: a test of the slot: three rows are loaded, and there are two slots
 * fix: slots for all rows that are in flight
 * Rows are loaded in bulk to the slots of a tile in shared memory. The third slot is the first bytes of the table behind it, which are inside
 * of what the block has. */
#include "bug.h"

enum { N = 32, SLOTS = 2, ROWS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N), .align = 16), *F = sett_param(b, "F", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, bug_twin ? ROWS : SLOTS)), 128, .name = "s"), *f = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "f");
    sett_tensor *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(full, ROWS * N * 4, .pred = sett_elect_one(b));
    sett_for (b, k, 0, ROWS, 1)
        sett_bulk_load(sett_slice(X, k, ALL), sett_slice(s, ALL, k), full); /* @1 copy */
    sett_mbarrier_wait(full, 0);
    sett_set(f, sett_at(F, t), t);
    sett_sync_warp(b);
    for (int k = 0; k < ROWS; k++)
        sett_set(Y, sett_mul(sett_at(s, t, sett_const(b, SETT_I32, bug_twin || k < SLOTS ? k : 0)), sett_at(f, sett_sub(N - 1, t))), k, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), f = bug_in(SETT_F32, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(kernel, &x, &f, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i) * bug_get(&f, N - 1 - i % N));
    return bug_close();
}
