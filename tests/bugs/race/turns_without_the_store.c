/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a group passes its turn on when it has issued its store, which still reads the buffer that the next group writes
 * fix: sett_tma_store_wait_read(b, 0) in front of sett_order_arrive
 * Two warps share one buffer for their results and take turns at it (ping-pong). The turn covers the writes and the issue of the bulk store;
 * the store goes on by itself. */
#include "bug.h"

enum { N = 32, ROUNDS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, 2, N), .align = 16);
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "out");
    sett_val *warp = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_pipeline_state *turn = sett_order_state(sett_pipeline_order(b, .stages = 1, .turns = 2, .producers = SETT_WARPS(1)), warp);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_val *x = sett_at(X, k, warp, lane);
        sett_order_wait(turn);
        sett_set(out, sett_add(sett_mul(x, 3), warp), lane); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_store(out, sett_slice(Y, k, warp, ALL)); /* @1 copy */
        sett_tma_store_commit(b);
        if (bug_twin)
            sett_tma_store_wait_read(b, 0);
        sett_order_arrive(turn); /* @arrive */
    }
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, 2, N), y = bug_out(SETT_F32, ROUNDS, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * 2 * N; i++)
        bug_expect(&y, i, 3 * bug_get(&x, i) + i / N % 2);
    return bug_close();
}
