/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: sett_sync_warp behind the wait for the bulk store, whose row other lanes read back from global memory
 * fix: sett_sync_warp(b) behind sett_tma_store_wait
 * A warp sends a row to global memory in bulk, its lane waits until it is there, and all lanes read it back. They have not met since. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_lane_idx(b);
    sett_set(s, sett_at(X, t), t);
    sett_fence_view_async_shared(b);
    sett_sync_warp(b);
    sett_bulk_store(s, W); /* @1 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0); /* @wait */
    if (bug_twin)
        sett_sync_warp(b);
    sett_set(Y, sett_at(W, sett_sub(N - 1, t)), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_out(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &w, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
