/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: lanes that have left the loop: a reduction over the warp stands in a loop whose length is the lane's own
 * fix: the reduction behind the loop
 * Each lane goes over the columns that are its own, 70 of them in steps of 32, and reduces in each round. In the third round six lanes
 * are left. An H200 gives sums of what the others last held. */
#include "bug.h"

enum { N = 70 };

static void sum(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_block(b, 32);
    sett_val *lane = sett_lane_idx(b);
    sett_tensor *all = sett_var(b, SETT_F32, 0.0);
    sett_for (b, i, lane, N, 32) {
        sett_val *x = sett_at(X, i);
        if (!bug_twin)
            x = sett_warp_reduce(x, SETT_ADD, 32); /* @1 use */
        sett_set(all, sett_add(sett_at(all, 0), x), 0);
    }
    sett_val *total = bug_twin ? sett_warp_reduce(sett_at(all, 0), SETT_ADD, 32) : sett_at(all, 0);
    sett_if (b, sett_eq(lane, 0))
        sett_set(Y, total, 0);
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
