/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of the wait and the store: the producer fills the slot, and then waits until it is empty
 * fix: sett_barrier(b, 3 + k % 2, 64) before the store
 * Two slots with a "full" barrier each (1, 2) and an "empty" one each (3, 4). The wait for "empty" stands behind the store, beside the
 * arrival at "full", so that a slot is filled while it is read. An H200 mixes rows when the consumer is slower. */
#include "bug.h"

enum { ROUNDS = 6, N = 32 };

static void hand_over(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 16);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        for (int k = 0; k < ROUNDS; k++) {
            if (bug_twin && k >= 2)
                sett_barrier(b, 3 + k % 2, 64);
            sett_set(S, sett_at(X, k, lane), lane, k % 2); /* @1 write */
            if (!bug_twin && k >= 2)
                sett_barrier(b, 3 + k % 2, 64); /* @barrier */
            sett_barrier_arrive(b, 1 + k % 2, 64);
        }
    }
    sett_else (b) {
        for (int k = 0; k < ROUNDS; k++) {
            sett_barrier(b, 1 + k % 2, 64);
            sett_set(Y, sett_at(S, sett_xor(lane, 5), k % 2), k, lane); /* @2 read */
            if (k + 2 < ROUNDS)
                sett_barrier_arrive(b, 3 + k % 2, 64);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, N), y = bug_out(SETT_F32, ROUNDS, N);
    bug_launch(hand_over, &x, &y);
    for (int i = 0; i < ROUNDS * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 5));
    return bug_close();
}
