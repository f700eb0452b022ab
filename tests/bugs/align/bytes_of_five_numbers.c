/* SPDX-License-Identifier: Apache-2.0 */
/* kind: align
 * missing: a number of bytes that is a multiple of 16
 * fix: round the bytes of a bulk copy up, and have room for them
 * The length of a row is data. Bulk copies move multiples of 16 bytes, and five numbers have 20. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *n = sett_at(L, 0), *bytes = sett_mul(n, 4);
    if (bug_twin)
        bytes = sett_mul(sett_floordiv(sett_add(bytes, 15), 16), 16);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(full, bytes, .pred = sett_elect_one(b));
    sett_bulk_load(X, s, full, .bytes = bytes); /* @1 copy */
    sett_mbarrier_wait(full, 0);
    sett_if (b, sett_lt(t, n))
        sett_set(Y, sett_at(s, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), l = bug_list(SETT_I32, 5), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &l, &y);
    for (int i = 0; i < 5; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
