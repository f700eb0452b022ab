/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: one order of the two barriers in both groups
 * fix: barrier 1 and then barrier 2 in both
 * Two warps meet at barriers 1 and 2. The first waits at 1 and then 2, the other at 2 and then 1. An H200 hangs. */
#include "bug.h"

enum { N = 32 };

static void exchange(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 16);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_set(S, sett_at(X, warp, lane), lane, warp);
    sett_if (b, sett_eq(warp, 0)) {
        sett_barrier(b, 1, 64); /* @1 wait */
        sett_set(Y, sett_at(S, lane, 1), 0, lane);
        sett_barrier(b, 2, 64);
    }
    sett_else (b) {
        sett_barrier(b, bug_twin ? 1 : 2, 64); /* @2 wait */
        sett_set(Y, sett_at(S, lane, 0), 1, lane);
        sett_barrier(b, bug_twin ? 2 : 1, 64);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(exchange, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i ^ N));
    return bug_close();
}
