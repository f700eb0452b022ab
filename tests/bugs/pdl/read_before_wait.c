/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: the kernel in front may still write what is read here
 * fix: sett_griddepcontrol_wait(b) in front of the load
 * public: CUTLASS #2760
 * The second kernel is launched while the first one runs, and hoists its loads above the wait, activations too. What it should hoist are
 * weights. On an H200 right as long as the first kernel lets it begin late. */
#include "bug.h"

enum { N = 64 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(M, sett_mul(sett_at(X, t), 2), t); /* @1 write */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, N)), *W = sett_param(b, "W", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *w = sett_at(W, t);
    if (bug_twin)
        sett_griddepcontrol_wait(b);
    sett_val *m = sett_at(M, sett_sub(N - 1, t)); /* @2 read */
    if (!bug_twin)
        sett_griddepcontrol_wait(b); /* @wait */
    sett_set(Y, sett_fma(m, w, w), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), w = bug_in(SETT_F32, N), m = bug_full(0, SETT_F32, N), y = bug_out(SETT_F32, N);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(k[0], &x, &m);
    bug_queue(k[1], &m, &w, &y);
    bug_wait();
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, (2 * bug_get(&x, N - 1 - i) + 1) * bug_get(&w, i));
    return bug_close();
}
