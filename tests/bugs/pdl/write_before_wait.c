/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: the kernel in front may still read the buffer that is cleared here
 * fix: sett_griddepcontrol_wait(b) in front of the store
 * A workspace goes from kernel to kernel. The second one clears it for its own sums "while it waits anyway", and the first one has yet to
 * read it. */
#include "bug.h"

enum { N = 32, BLOCKS = 2 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(Y, sett_neg(sett_at(W, m, t)), m, t); /* @1 read */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_row_major(b, BLOCKS, N)), *Z = sett_param(b, "Z", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    if (bug_twin)
        sett_griddepcontrol_wait(b);
    sett_set(W, 0.0, m, t); /* @2 write */
    if (!bug_twin)
        sett_griddepcontrol_wait(b); /* @wait */
    sett_set(Z, sett_add(sett_at(W, m, t), 5), m, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf w = bug_in(SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, BLOCKS, N), z = bug_out(SETT_F32, BLOCKS, N);
    double was[BLOCKS * N];
    for (int i = 0; i < BLOCKS * N; i++)
        was[i] = bug_get(&w, i);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(k[0], &w, &y);
    bug_queue(k[1], &w, &z);
    bug_wait();
    for (int i = 0; i < BLOCKS * N; i++) {
        bug_expect(&y, i, -was[i]);
        bug_expect(&z, i, 5);
    }
    return bug_close();
}
