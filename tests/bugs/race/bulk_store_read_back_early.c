/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: wait_read says that shared memory was read, not that global memory is written
 * fix: sett_tma_store_wait(b, 0) in place of sett_tma_store_wait_read
 * A block stores a row in bulk and loads from it again: a neighbour's element, for the second step of a stencil. The wait with .read ends
 * before the store has. An H200 mostly gives the old values here. */
#include "bug.h"

enum { THREADS = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 1, THREADS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, THREADS));
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, 1, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, sett_add(sett_at(X, 0, t), 3), t);
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_store(s, sett_slice(W, 0, ALL)); /* @1 copy */
        sett_tma_store_commit(b);
        if (bug_twin)
            sett_tma_store_wait(b, 0);
        else
            sett_tma_store_wait_read(b, 0); /* @wait */
    }
    sett_sync_threads(b);
    sett_set(Y, sett_add(sett_at(W, 0, t), sett_at(W, 0, sett_mod(sett_add(t, 1), THREADS))), 0, t); /* @2 read */
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 1, THREADS), y = bug_out(SETT_F32, 1, THREADS), w = bug_full(100, SETT_F32, 1, THREADS);
    bug_launch(kernel, &x, &y, &w);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i) + bug_get(&x, (i + 1) % THREADS) + 6);
    return bug_close();
}
