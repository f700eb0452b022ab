/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: threads have loaded their scratch, and TMA then writes the stage that lies in the same bytes
 * fix: sett_fence_view_async_shared(b) behind the last use of the scratch, in front of the barrier
 * public: DeepEP #642
 * The prologue sums something up in shared memory that the ring takes over later. A barrier stands between the two uses. Nobody sees two
 * uses of one memory here, as the names differ. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *stage = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "stage"), *scratch = sett_smem_alias(stage, SETT_F32, sett_make_layout(b, N)), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_set(scratch, sett_at(X, 0, t), t);
    sett_sync_threads(b);
    sett_set(Y, sett_sub(sett_at(scratch, t), sett_at(scratch, sett_sub(N - 1, t))), 0, t); /* @1 read */
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
        sett_bulk_load(sett_slice(X, 1, ALL), stage, full); /* @2 copy */
    }
    sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_at(stage, t), 1, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        bug_expect(&y, i, bug_get(&x, i) - bug_get(&x, N - 1 - i));
        bug_expect(&y, N + i, bug_get(&x, N + i));
    }
    return bug_close();
}
