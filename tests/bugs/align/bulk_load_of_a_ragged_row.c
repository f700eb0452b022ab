/* SPDX-License-Identifier: Apache-2.0 */
/* kind: align
 * missing: a source at a multiple of 16 bytes
 * fix: rows padded to multiples of 4 elements, by the host
 * Rows of 32 numbers go by bulk copies, which take addresses that are multiples of 16. The second row begins at element 34. An H200
 * ends the kernel with an illegal instruction or a misaligned address. */
#include "bug.h"

enum { ROWS = 2, N = 32, ALL_OF = 128 };

static void gather(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ALL_OF), .align = 16), *O = sett_param(b, "O", SETT_I32, sett_row_major(b, ROWS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_grid(b, ROWS);
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 128), *bars = sett_make_mbarriers(b, 1), *bar = sett_slice(bars, 0);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0), *at = sett_assume(sett_at(O, row), 4); /* @use */
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(bar, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(bar, N * 4, .pred = sett_eq(t, 0));
    sett_bulk_load(sett_local_tile(sett_domain_offset(X, at), T1(N), T1(0)), S, bar); /* @1 copy */
    sett_mbarrier_wait(bar, 0);
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), row, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ALL_OF), o = bug_list(SETT_I32, 0, bug_twin ? 36 : 34), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(gather, &x, &o, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, (int)bug_get(&o, i / N) + N - 1 - i % N));
    return bug_close();
}
