/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: blocks past the first skip the branch in which the wait stands
 * fix: sett_griddepcontrol_wait(b) in front of the branch
 * public: flashinfer #2708
 * The wait went into the branch of block 0, which reads the scale that the first kernel computes. The rows, which the first kernel writes
 * too, are read by all blocks. */
#include "bug.h"

enum { N = 32, BLOCKS = 3 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, BLOCKS, N)), *M = sett_param(b, "M", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_set(M, sett_mul(sett_at(X, m, t), 2), m, t); /* @1 write */
    sett_griddepcontrol_launch_dependents(b);
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, BLOCKS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, BLOCKS, N));
    sett_grid(b, BLOCKS), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_tensor *add = sett_var(b, SETT_F32, 0.0);
    if (bug_twin)
        sett_griddepcontrol_wait(b);
    sett_if (b, sett_eq(m, 0)) {
        if (!bug_twin)
            sett_griddepcontrol_wait(b); /* @wait */
        sett_set(add, sett_at(M, BLOCKS - 1, t), 0);
    }
    sett_set(Y, sett_add(sett_at(M, m, t), sett_at(add, 0)), m, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, BLOCKS, N), m = bug_full(0, SETT_F32, BLOCKS, N), y = bug_out(SETT_F32, BLOCKS, N);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(k[0], &x, &m);
    bug_queue(k[1], &m, &y);
    bug_wait();
    for (int i = 0; i < BLOCKS * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i) + (i < N ? 2 * bug_get(&x, (BLOCKS - 1) * N + i) : 0));
    return bug_close();
}
