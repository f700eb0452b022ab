/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: values of the partial sums of warps that the block does not have
 * fix: lanes past the number of warps add 0
 * The usual block sum for up to 32 warps: each stores its sum, and the first warp adds 32 of them. The block has four. An H200 adds
 * what an earlier kernel left in the other 28 words. */
#include "bug.h"

enum { N = 128, WARPS = N / 32 };

static void sum(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 32, 16); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *part = sett_warp_reduce(sett_at(X, t), SETT_ADD, 32);
    sett_if (b, sett_eq(lane, 0))
        sett_set(S, part, sett_warp_idx(b));
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, 32)) {
        sett_val *mine = sett_load(sett_slice(S, lane), .pred = bug_twin ? sett_lt(lane, WARPS) : NULL); /* @1 read */
        sett_val *all = sett_warp_reduce(mine, SETT_ADD, 32);
        sett_if (b, sett_eq(lane, 0))
            sett_set(Y, all, 0); /* @2 use */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 1);
    bug_launch(sum, &x, &y);
    double all = 0;
    for (int i = 0; i < N; i++)
        all += bug_get(&x, i);
    bug_expect(&y, 0, all);
    return bug_close();
}
