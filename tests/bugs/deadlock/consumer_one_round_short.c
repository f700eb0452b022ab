/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock | barrier-count
 * missing: the consumer's last round: it waits for one row fewer than the producer hands over
 * fix: the same number of rounds on both sides
 * Both wait at a named barrier in each round. The consumer leaves the last row to the tail behind its loop, as it once was, and the
 * tail is gone. An H200 hangs in the last round. */
#include "bug.h"

enum { ROWS = 4, N = 32 };

static void hand_over(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, ROWS)), 16);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_for (b, k, 0, ROWS, 1) {
            sett_set(S, sett_at(X, k, lane), lane, k);
            sett_barrier(b, 1, 64); /* @1 wait */
        }
    }
    sett_else (b) {
        sett_for (b, k, 0, bug_twin ? ROWS : ROWS - 1, 1) {
            sett_barrier(b, 1, 64); /* @2 barrier */
            sett_set(Y, sett_at(S, sett_sub(N - 1, lane), k), k, lane);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(hand_over, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
