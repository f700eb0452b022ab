/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count
 * missing: one count for both sides: the producer says 96 threads, the consumers 128
 * fix: sett_barrier_arrive(b, 1, 96)
 * public: flashinfer #4732
 * A producer warp and two consumer warps have a named barrier. The producer's call still has the count of a block with three
 * consumers. An H200 stops the kernel, or hangs. */
#include "bug.h"

enum { ROWS = 2, N = 32 };

static void feed(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, 128); /* the last warp has no part in this */
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, ROWS)), 16);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_if (b, sett_eq(warp, ROWS)) {
        sett_for (b, row, 0, ROWS, 1)
            sett_set(S, sett_at(X, row, lane), lane, row);
        sett_barrier_arrive(b, 1, bug_twin ? 96 : 128); /* @1 arrive */
    }
    sett_if (b, sett_lt(warp, ROWS)) {
        sett_barrier(b, 1, 96); /* @2 barrier */
        sett_set(Y, sett_at(S, sett_sub(N - 1, lane), warp), warp, lane);
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
