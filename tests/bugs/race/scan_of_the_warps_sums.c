/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier between the first warp's scan of the sums and the other warps' loads of it
 * fix: a second sett_sync_threads(b)
 * A running sum by two levels: each warp scans its own numbers, stores its sum, a barrier; the first warp scans the sums; all warps
 * add the sum of those before. The second barrier is missing. An H200 adds plain sums in place of running ones. */
#include "bug.h"

enum { N = 128, WARPS = N / 32 };

static sett_val *scan_of_warp(sett_build *b, sett_val *x)
{
    sett_tensor *sum = sett_var(b, SETT_I32, x);
    for (int d = 1; d < 32; d *= 2) {
        sett_val *below = sett_shuffle_sync_up(sett_at(sum, 0), d, 32);
        sett_set(sum, sett_add(sett_at(sum, 0), sett_where(sett_ge(sett_lane_idx(b), d), below, 0)), 0);
    }
    return sett_at(sum, 0);
}

static void scan(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, WARPS, 16, .name = "sums");
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *warp = sett_warp_idx(b), *mine = scan_of_warp(b, sett_at(X, t));
    sett_if (b, sett_eq(lane, 31))
        sett_set(S, mine, warp);
    sett_sync_threads(b);
    sett_if (b, sett_eq(warp, 0)) {
        sett_val *sum = scan_of_warp(b, sett_load(sett_slice(S, lane), .pred = sett_lt(lane, WARPS)));
        sett_if (b, sett_lt(lane, WARPS))
            sett_set(S, sum, lane); /* @1 write */
    }
    if (bug_twin)
        sett_sync_threads(b);
    sett_val *before = sett_load(sett_slice(S, sett_max(sett_sub(warp, 1), 0)), .pred = sett_gt(warp, 0)); /* @2 read */
    sett_set(Y, sett_add(mine, before), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(scan, &x, &y);
    double sum = 0;
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, sum += bug_get(&x, i));
    return bug_close();
}
