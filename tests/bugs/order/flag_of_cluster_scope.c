/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: scope: the flag's release and acquire are of the cluster, and the two blocks are of two clusters
 * fix: SETT_SCOPE_GPU at both
 * A flag in global memory that passes from one cluster to the next, by code that passed it inside of a cluster. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N)), *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_cluster(b, 2), sett_grid(b, 4), sett_block(b, N), sett_cooperative(b);
    const sett_scope scope = bug_twin ? SETT_SCOPE_GPU : SETT_SCOPE_CLUSTER;
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_if (b, sett_eq(m, 0)) {
        sett_set(W, sett_at(X, t), t); /* @1 write */
        sett_sync_warp(b);
        sett_if (b, sett_eq(t, 0))
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, scope, 1, 0); /* @release */
    }
    sett_if (b, sett_eq(m, 3)) {
        sett_if (b, sett_eq(t, 0))
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, scope, 0, 0), 0)) {} /* @wait */
        sett_sync_warp(b);
        sett_set(Y, sett_at(W, sett_sub(N - 1, t)), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_out(SETT_F32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &w, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
