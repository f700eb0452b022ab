/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: sett_sync_warp behind the wait: the lane that stored has waited, and the other lanes of its warp write
 * fix: sett_sync_warp(b) behind sett_tma_store_wait_read
 * One warp, one buffer, one bulk store a round. The wait is of the lane that was elected; that its warp runs together tells the other 31
 * nothing. */
#include "bug.h"

enum { N = 32, ROUNDS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, N), .align = 16);
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_lane_idx(b);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_set(s, sett_mul(sett_at(X, k, t), 3), t); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_store(s, sett_slice(Y, k, ALL)); /* @1 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait_read(b, 0); /* @wait */
        if (bug_twin)
            sett_sync_warp(b);
    }
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, N), y = bug_out(SETT_F32, ROUNDS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * N; i++)
        bug_expect(&y, i, 3 * bug_get(&x, i));
    return bug_close();
}
