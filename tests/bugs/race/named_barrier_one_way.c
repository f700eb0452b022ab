/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the edge from the consumers' loads to the producer's next stores: the "empty" barrier
 * fix: sett_barrier_arrive(b, 2, 64) of the consumer behind its load, and sett_barrier(b, 2, 64) of the producer before the next store
 * A producer warp fills one slot round after round, and a consumer empties it. "Full" is a named barrier at which both wait; nobody
 * says "empty", so that the producer fills the slot while it is read. An H200 loses rounds when the consumer is slower. */
#include "bug.h"

enum { ROUNDS = 5 };

static void hand_over(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, 32));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 32, 16);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, ROUNDS, 1) {
            if (bug_twin)
                sett_if (b, sett_gt(k, 0))
                    sett_barrier(b, 2, 64);
            sett_set(S, sett_at(X, k, lane), lane); /* @1 write */
            sett_barrier(b, 1, 64);
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, ROUNDS, 1) {
            sett_barrier(b, 1, 64);
            sett_set(Y, sett_at(S, sett_xor(lane, 1)), k, lane); /* @2 read */
            if (bug_twin)
                sett_if (b, sett_lt(k, ROUNDS - 1))
                    sett_barrier_arrive(b, 2, 64);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, 32), y = bug_out(SETT_F32, ROUNDS, 32);
    bug_launch(hand_over, &x, &y);
    for (int i = 0; i < ROUNDS * 32; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 1));
    return bug_close();
}
