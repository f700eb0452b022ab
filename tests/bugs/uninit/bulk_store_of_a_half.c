/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a store to the upper half of the buffer: half of it was written, and the copy takes all
 * fix: a copy of as many bytes as were stored
 * A row is put together in shared memory and sent off in bulk. Only the first 32 elements were stored; what goes out behind them nobody
 * wrote. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, sett_at(X, t), t);
    if (bug_twin)
        sett_set(s, sett_at(X, sett_add(t, 32)), sett_add(t, 32));
    sett_fence_view_async_shared(b);
    sett_sync_warp(b);
    sett_bulk_store(s, Y); /* @1 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
