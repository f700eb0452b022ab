/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the wait is of each thread's own copies; no barrier tells the others
 * fix: sett_sync_threads behind sett_cp_async_wait_all
 * A row comes by cp.async, and each thread then reads the element of its mirror image, which a thread of another warp has copied. An H200
 * gives right numbers while the warps of the block keep step. */
#include "bug.h"

enum { THREADS = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 4, THREADS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 4, THREADS));
    sett_grid(b, 4), sett_block(b, THREADS);
    sett_tensor *row = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "row");
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_cp_async(sett_local_tile(sett_slice(X, m, ALL), T1(1), T1(t)), sett_local_tile(row, T1(1), T1(t))); /* @1 copy */
    sett_cp_async_wait_all(b); /* @wait */
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(Y, sett_at(row, sett_sub(THREADS - 1, t)), m, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 4, THREADS), y = bug_out(SETT_F32, 4, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 4 * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i / THREADS * THREADS + THREADS - 1 - i % THREADS));
    return bug_close();
}
