/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: of the last tile only as many bytes were copied as the row has, and the sum takes all of the buffer
 * fix: add up as many elements as were copied
 * A bulk copy fills nothing with zeros, as TMA's boxes do. Behind the end of a short row lies what was in shared memory before: for the
 * first tile that nobody ever wrote. */
#include "bug.h"

enum { N = 64, LENGTH = 40 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 32));
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *second = sett_add(t, 32);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, LENGTH * 4);
    }
    sett_sync_warp(b);
    sett_bulk_load(X, s, full, .bytes = sett_const(b, SETT_I32, LENGTH * 4)); /* @copy */
    sett_mbarrier_wait(full, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, sett_at(s, t));
    sett_if (b, sett_lt(second, bug_twin ? LENGTH : N))
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(s, second)), 0); /* @1 read */
    sett_set(Y, sett_at(sum, 0), t); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 32);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 32; i++)
        bug_expect(&y, i, bug_get(&x, i) + (i + 32 < LENGTH ? bug_get(&x, i + 32) : 0));
    return bug_close();
}
