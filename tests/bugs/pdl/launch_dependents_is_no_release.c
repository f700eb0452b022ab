/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: the wait of a kernel that may begin before the one in front of it has ended
 * fix: sett_griddepcontrol_wait(b) in the second kernel
 * The first kernel writes, fences and then calls launch_dependents, which is taken for a release; the second one has a wait, behind the
 * last use. PTX ISA demands the wait of it in a note. Version 9.2 says besides that a release fence in front of launch_dependents
 * synchronises with the start of the next kernel, without taking the note back. */
#include "bug.h"

enum { N = 32, BLOCKS = 4 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *M = sett_param(b, "M", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_set(M, sett_mul(sett_at(X, m, t), 4), m, t); /* @1 write */
    sett_fence_acq_rel_gpu(b); /* @fence */
    sett_griddepcontrol_launch_dependents(b);
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    if (bug_twin)
        sett_griddepcontrol_wait(b);
    else
        sett_fence_acq_rel_gpu(b); /* @fence */
    sett_for (b, k, 0, BLOCKS, 1)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(M, k, t)), 0); /* @2 read */
    if (!bug_twin)
        sett_griddepcontrol_wait(b); /* @wait */
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), m = bug_full(0, SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, N);
    sett_kernel *both[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(both[0], &x, &m);
    bug_queue(both[1], &m, &y);
    bug_wait();
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < BLOCKS; k++)
            sum += 4 * bug_get(&x, k * N + i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
