/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race | deadlock
 * missing: each of two warps of a group arrives, and the turn was made for groups of one
 * fix: .producers = SETT_WARPS(2)
 * Two groups of two warps take turns at a buffer. The first warp that is done passes the turn on for both, and the second one passes on a
 * turn that its group does not have. */
#include "bug.h"

enum { N = 64, ROUNDS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *sum = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "sum");
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, N), *at = sett_mod(t, N);
    sett_pipeline *order = sett_pipeline_order(b, .stages = 1, .turns = 2, .producers = SETT_WARPS(bug_twin ? 2 : 1)); /* @2 init */
    sett_pipeline_state *turn = sett_order_state(order, group);
    sett_if (b, sett_eq(group, 0))
        sett_set(sum, 0.0, at);
    sett_sync_threads(b);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_order_wait(turn); /* @1 wait */
        sett_val *was = sett_at(sum, sett_xor(at, 32));
        sett_barrier(b, sett_add(group, 1), N);
        sett_set(sum, sett_add(sett_mul(was, 2), sett_at(X, group, at)), at);
        sett_barrier(b, sett_add(group, 1), N);
        sett_order_arrive(turn); /* @1 arrive */
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(group, 0))
        sett_set(Y, sett_at(sum, at), at);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    double sum[N] = {0};
    for (int turn = 0; turn < 2 * ROUNDS; turn++) {
        double was[N];
        memcpy(was, sum, sizeof was);
        for (int i = 0; i < N; i++)
            sum[i] = 2 * was[i ^ 32] + bug_get(&x, turn % 2 * N + i);
    }
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, sum[i]);
    return bug_close();
}
