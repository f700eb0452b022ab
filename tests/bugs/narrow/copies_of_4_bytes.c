/* SPDX-License-Identifier: Apache-2.0 */
/* kind: narrow
 * missing: the promise that the offset of a row is a multiple of 4 elements, which it is
 * fix: sett_assume(at, 4), which the host keeps
 * Rows of a table begin at offsets that the host pads to 16 bytes. The kernel does not say so, and its cp.async copies 4 bytes at a
 * time, past L1 no more. */
#include "bug.h"

enum { ROWS = 3, N = 64, ALL_OF = 256 };

static void gather(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ALL_OF), .align = 16), *O = sett_param(b, "O", SETT_I32, sett_row_major(b, ROWS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_grid(b, ROWS);
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0), *at = sett_at(O, row);
    if (bug_twin)
        at = sett_assume(at, 4);
    sett_if (b, sett_lt(t, N / 4)) {
        sett_cp_async(sett_local_tile(sett_domain_offset(X, at), T1(4), T1(t)), sett_local_tile(S, T1(4), T1(t))); /* @1 copy */
        sett_cp_async_wait_all(b);
    }
    sett_sync_threads(b);
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), row, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ALL_OF), o = bug_list(SETT_I32, 0, 100, 180), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(gather, &x, &o, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, (int)bug_get(&o, i / N) + N - 1 - i % N));
    return bug_close();
}
