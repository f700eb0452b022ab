/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race | deadlock
 * missing: the consumer between two arrivals of the producer at one barrier, which must be reset in between
 * fix: two barriers, by the round's parity, and a barrier back from the consumer
 * public: vLLM #26026
 * The producer arrives once for each of two rows, and goes on at once; the consumer waits for each. Two arrivals of one warp may fall
 * into one phase, which is then full without the consumer. PTX leaves it undefined. An H200 hangs or gives the second row twice. */
#include "bug.h"

enum { ROWS = 2, N = 32 };

static void feed(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, ROWS)), 16);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        for (int row = 0; row < ROWS; row++) {
            sett_set(S, sett_at(X, row, lane), lane, row);
            sett_barrier_arrive(b, bug_twin ? 1 + row : 1, 64); /* @1 arrive @2 arrive */
        }
    }
    sett_else (b) {
        for (int row = 0; row < ROWS; row++) {
            sett_barrier(b, bug_twin ? 1 + row : 1, 64); /* @2 barrier */
            sett_set(Y, sett_at(S, sett_sub(N - 1, lane), row), row, lane);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(feed, &x, &y);
    for (int i = 0; i < ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
