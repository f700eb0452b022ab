/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: one decision for the block: each warp leaves the loop when its own numbers have converged
 * fix: a vote of the block, so that all leave together
 * Rounds go on until nothing changes. Each warp looks at its own rows, and there is a barrier in the loop. The warps part. An H200
 * hangs, or pairs barriers of different rounds. */
#include "bug.h"

enum { WARPS = 2, N = 32 };

static void rounds(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, WARPS)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, WARPS));
    sett_block(b, WARPS * N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "going"), *left = sett_var(b, SETT_I32, 0), *done = sett_var(b, SETT_I32, 0), *go = sett_var(b, SETT_I32, 1);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_set(left, sett_at(X, warp), 0);
    sett_while (b, sett_ne(sett_at(go, 0), 0)) {
        sett_if (b, sett_eq(t, 0))
            sett_set(S, 0, 0);
        sett_sync_threads(b); /* @1 barrier */
        sett_val *more = sett_gt(sett_at(left, 0), 0);
        sett_set(done, sett_add(sett_at(done, 0), sett_to(more, SETT_I32)), 0);
        sett_set(left, sett_sub(sett_at(left, 0), 1), 0);
        sett_if (b, sett_and(more, sett_eq(lane, 0)))
            sett_atomic_add(S, 1, 0);
        sett_sync_threads(b); /* @1 barrier */
        sett_set(go, bug_twin ? sett_at(S, 0) : sett_to(more, SETT_I32), 0);
        sett_sync_threads(b); /* @1 barrier */
    }
    sett_if (b, sett_eq(lane, 0))
        sett_set(Y, sett_at(done, 0), warp);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_list(SETT_I32, 4, 2), y = bug_out(SETT_I32, WARPS);
    bug_launch(rounds, &x, &y);
    for (int i = 0; i < WARPS; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
