/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: scope: the flag in the peer's shared memory is set and polled at the scope of a block
 * fix: SETT_SCOPE_CLUSTER
 * public: CUTLASS #3647
 * Block 1 of a cluster stores a row into block 0's shared memory, meets, and sets a flag there, with release and acquire of the
 * block's scope, which are for threads of one block. An H200 gives right numbers on most days. */
#include "bug.h"

enum { N = 32 };

static void give(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, N);
    sett_cluster(b, 2);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16), *F = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "flag");
    const sett_scope scope = bug_twin ? SETT_SCOPE_CLUSTER : SETT_SCOPE_CTA;
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, first)
        sett_set(F, 0, 0);
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_block_idx_in_cluster(b), 1)) {
        sett_set(sett_map_dsmem(S, 0), sett_at(X, t), t); /* @1 write */
        sett_sync_threads(b);
        sett_if (b, first)
            sett_atomic_ordered(sett_map_dsmem(F, 0), SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, scope, 1, 0); /* @release */
    }
    sett_else (b) {
        sett_if (b, first)
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, scope, 0, 0), 0)) /* @wait */
                ;
        sett_sync_threads(b);
        sett_set(Y, sett_at(S, sett_sub(N - 1, t)), t); /* @2 read */
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(give, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
