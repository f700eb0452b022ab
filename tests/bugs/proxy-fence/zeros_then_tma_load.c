/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: a write by the generic proxy, then one by the async proxy to the same bytes: either may come last
 * fix: sett_fence_view_async_shared(b) behind the zeros, in front of the barrier
 * A block clears its buffer, and loads in bulk as many elements as the sequence has; what lies behind stays zero. The zeros may overtake
 * the copy, or be overtaken. An H200 keeps the order nearly always. */
#include "bug.h"

enum { N = 64, LENGTH = 40 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_set(s, 0.0, t); /* @1 write */
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_mbarrier_arrive_and_expect_tx(full, LENGTH * 4, .pred = sett_elect_one(b));
        sett_bulk_load(X, s, full, .bytes = sett_const(b, SETT_I32, LENGTH * 4)); /* @2 copy */
    }
    sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_at(s, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, i < LENGTH ? bug_get(&x, i) : 0);
    return bug_close();
}
