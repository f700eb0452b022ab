/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a second meeting of the warp group, between the loads of its maxima and the stores of the next reduction
 * fix: sett_barrier(b, 1 + group, 128) behind the loads
 * public: CUTLASS #3597
 * Each of two warp groups reduces over its four warps by scratch memory of its own and a named barrier: first a maximum, then a sum.
 * The barrier is before the loads; nothing is behind them. An H200 takes a sum for a maximum in one row of thousands. */
#include "bug.h"

enum { GROUPS = 2, GROUP = 128 };

static sett_val *reduce(sett_build *b, sett_tensor *scratch, sett_val *group, sett_val *x, sett_binary_op op)
{
    sett_val *part = sett_warp_reduce(x, op, 32), *warp = sett_mod(sett_warp_idx(b), 4);
    sett_if (b, sett_eq(sett_lane_idx(b), 0))
        sett_set(scratch, part, warp); /* @1 write */
    sett_barrier(b, sett_add(group, 1), GROUP);
    sett_val *all = sett_reduce(sett_load(scratch), op, op == SETT_ADD ? 0.0 : -1000.0); /* @2 read */
    if (bug_twin)
        sett_barrier(b, sett_add(group, 1), GROUP);
    return all;
}

static void below_max(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, GROUPS, GROUP)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, GROUPS, GROUP));
    sett_block(b, GROUPS * GROUP);
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, GROUP), *mine = sett_mod(t, GROUP), *x = sett_at(X, group, mine);
    sett_tensor *S = sett_slice(sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(4, GROUPS)), 16), ALL, group);
    sett_val *most = reduce(b, S, group, x, SETT_MAX);
    sett_set(Y, reduce(b, S, group, sett_sub(most, x), SETT_ADD), group, mine);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, GROUPS, GROUP), y = bug_out(SETT_F32, GROUPS, GROUP);
    bug_launch(below_max, &x, &y);
    for (int g = 0; g < GROUPS; g++) {
        double most = -1000, sum = 0;
        for (int i = 0; i < GROUP; i++)
            most = fmax(most, bug_get(&x, g * GROUP + i));
        for (int i = 0; i < GROUP; i++)
            sum += most - bug_get(&x, g * GROUP + i);
        for (int i = 0; i < GROUP; i++)
            bug_expect(&y, g * GROUP + i, sum);
    }
    return bug_close();
}
