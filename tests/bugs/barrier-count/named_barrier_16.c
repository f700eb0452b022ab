/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count
 * missing: an id from 1 to 15: warp 15 takes barrier 16
 * fix: ids shared by pairs of warps
 * Each warp has a named barrier of its own, 1 + warp, in a block of 16 warps. The last one's id is 16, and there are 16 barriers, 0 to
 * 15. An H200 stops the kernel. */
#include "bug.h"

enum { WARPS = 16, N = 32 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, WARPS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, WARPS, N));
    sett_block(b, WARPS * N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, WARPS)), 16);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b), *id = sett_add(bug_twin ? sett_floordiv(warp, 2) : warp, 1);
    sett_set(S, sett_at(X, warp, lane), lane, warp);
    sett_barrier(b, id, bug_twin ? 64 : 32); /* @1 barrier */
    sett_set(Y, sett_at(S, sett_sub(N - 1, lane), warp), warp, lane);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, WARPS, N), y = bug_out(SETT_F32, WARPS, N);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < WARPS * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
