/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race
 * missing: an id of its own: two pairs of warps use barrier 1 at once
 * fix: barrier 1 + pair for each pair
 * public: flashinfer #4533
 * Two pairs of warps exchange rows, each pair by a named barrier of 64 threads. Both pairs use id 1, so that a warp of one pair and a
 * warp of the other may end it. An H200 gives rows of before. */
#include "bug.h"

enum { N = 32, WARPS = 4 };

static void exchange(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, WARPS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, WARPS, N));
    sett_block(b, WARPS * N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, WARPS)), 16);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b), *pair = sett_and(warp, 1);
    sett_set(S, sett_at(X, warp, lane), lane, warp); /* @1 write */
    sett_barrier(b, bug_twin ? sett_add(pair, 1) : sett_const(b, SETT_I32, 1), 64); /* @1 barrier @2 barrier */
    sett_set(Y, sett_at(S, lane, sett_xor(warp, 2)), warp, lane); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, WARPS, N), y = bug_out(SETT_F32, WARPS, N);
    bug_launch(exchange, &x, &y);
    for (int i = 0; i < WARPS * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 2 * N));
    return bug_close();
}
