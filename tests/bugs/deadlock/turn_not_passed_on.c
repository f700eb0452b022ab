/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: a group that has nothing to do in a round keeps its turn
 * fix: sett_order_arrive(turn) in every round, outside of the branch
 * Two warps take turns at a sum in shared memory. A warp whose tile is past the end leaves out wait and arrival, and the other one waits
 * for its turn for ever. With an even number of tiles nobody notices. */
#include "bug.h"

enum { N = 32, TILES = 5, ROUNDS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *sum = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "sum");
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_pipeline *order = sett_pipeline_order(b, .stages = 1, .turns = 2, .producers = SETT_WARPS(1)); /* @2 init */
    sett_pipeline_state *turn = sett_order_state(order, warp);
    sett_if (b, sett_eq(warp, 0))
        sett_set(sum, 0.0, lane);
    sett_sync_threads(b);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_val *tile = sett_sub(sett_add(sett_mul(k, 2), 1), warp), *mine = sett_lt(tile, TILES);
        if (bug_twin) {
            sett_order_wait(turn);
            sett_if (b, mine)
                sett_set(sum, sett_add(sett_mul(sett_at(sum, lane), 2), sett_at(X, tile, lane)), lane);
            sett_order_arrive(turn);
        } else
            sett_if (b, mine) {
                sett_order_wait(turn); /* @1 wait */
                sett_set(sum, sett_add(sett_mul(sett_at(sum, lane), 2), sett_at(X, tile, lane)), lane);
                sett_order_arrive(turn); /* @2 arrive */
            }
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(warp, 0))
        sett_set(Y, sett_at(sum, lane), lane);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        static const int first[TILES] = {1, 0, 3, 2, 4}; /* the order of the turns */
        double sum = 0;
        for (int k = 0; k < TILES; k++)
            sum = 2 * sum + bug_get(&x, first[k] * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
