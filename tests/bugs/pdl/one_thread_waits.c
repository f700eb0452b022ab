/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: one thread waits for the kernel in front, and the others of the block do not wait for that thread
 * fix: sett_sync_threads(b) behind the wait of thread 0, or the wait in all threads
 * The wait is of the thread that executes it. A prologue of one thread (maps, mbarriers) takes it along; the loads of the other warps
 * are free to come first. */
#include "bug.h"

enum { N = 128 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(M, sett_add(sett_at(X, t), 1), t); /* @1 write */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_griddepcontrol_wait(b); /* @wait */
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(Y, sett_mul(sett_at(M, t), 3), t); /* @2 read */
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
        bug_expect(&y, i, 3 * bug_get(&x, i) + 3);
    return bug_close();
}
