/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: a wait for the kernel in front before the bulk store to what that kernel reads
 * fix: sett_griddepcontrol_wait(b) in front of sett_bulk_store
 * The second kernel puts zeros where the first one reads. It begins with the copy, "which takes long anyway", and waits behind it. */
#include "bug.h"

enum { N = 64 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(Y, sett_at(M, t), t); /* @1 read */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, 0, t);
    sett_fence_view_async_shared(b);
    if (bug_twin)
        sett_griddepcontrol_wait(b), sett_fence_proxy(b, SETT_PROXY_ASYNC);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_store(s, M); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
    if (!bug_twin)
        sett_griddepcontrol_wait(b); /* @wait */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf m = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N), was = bug_in(SETT_F32, N);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    (void)was;
    bug_queue(k[0], &m, &y);
    bug_queue(k[1], &m);
    bug_wait();
    for (int i = 0; i < N; i++)
        bug_expect(&m, i, 0), bug_expect(&y, i, (i * 7 + i / 8 * 5 + i / 64 * 3) % 9 - 4);
    return bug_close();
}
