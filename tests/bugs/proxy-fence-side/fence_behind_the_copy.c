/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence-side | proxy-fence | pdl
 * missing: between the wait for the kernel in front and the bulk load that reads what its threads stored there is no fence
 * fix: sett_fence_proxy(b, SETT_PROXY_ASYNC) right behind sett_griddepcontrol_wait
 * The fence is there, one line too late. */
#include "bug.h"

enum { N = 64 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(M, sett_add(sett_at(X, t), 2), t); /* @1 write */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_sync_threads(b);
    sett_griddepcontrol_wait(b); /* @wait */
    if (bug_twin)
        sett_fence_proxy(b, SETT_PROXY_ASYNC);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_load(M, s, full); /* @2 copy */
    sett_fence_proxy(b, SETT_PROXY_ASYNC); /* @fence */
    sett_mbarrier_wait(full, 0);
    sett_set(Y, sett_mul(sett_at(s, t), 2), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), m = bug_full(0, SETT_F32, N), y = bug_out(SETT_F32, N);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(k[0], &x, &m);
    bug_queue(k[1], &m, &y);
    bug_wait();
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i) + 4);
    return bug_close();
}
