/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | order | proxy-fence
 * missing: one proxy: a bulk reduction and atomics add to the same sums at once
 * fix: atomics in both blocks, or reductions in both
 * Block 0 adds its row by a bulk reduction, block 1 by atomics, "both are atomic". They are so each among themselves: the reduction works by
 * the async proxy. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_if (b, bug_twin ? sett_ge(m, 0) : sett_eq(m, 0)) {
        sett_set(s, sett_at(X, m, t), t);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_bulk_reduce(SETT_ADD, s, Y); /* @1 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
    sett_else (b)
        sett_atomic_add(Y, sett_at(X, m, t), t); /* @2 atomic */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_full(1, SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 1 + bug_get(&x, i) + bug_get(&x, N + i));
    return bug_close();
}
