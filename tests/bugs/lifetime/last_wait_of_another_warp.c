/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: the warp that waits at the end is not the one that stored
 * fix: sett_tma_store_wait_read(b, 0) in the last warp
 * public: TransformerEngine #3417
 * The last warp stores, "thread 0 cleans up". Thread 0 has no group to wait for. */
#include "bug.h"

enum { THREADS = 96, N = 96 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N), .align = 16);
    sett_grid(b, 2), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_set(s, sett_add(sett_at(X, m, t), 1), t);
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), THREADS / 32 - 1)) {
        sett_bulk_store(s, sett_slice(Y, m, ALL)); /* @1 copy */
        sett_tma_store_commit(b);
    }
    sett_if (b, sett_eq(sett_warp_idx(b), bug_twin ? THREADS / 32 - 1 : 0))
        sett_tma_store_wait_read(b, 0); /* @wait */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i) + 1);
    return bug_close();
}
