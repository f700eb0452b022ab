/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: the kernel two places in front may still run: the one between has let this one begin before its own wait
 * fix: sett_griddepcontrol_wait(b) in front of the read of A's result
 * A chain of three. C reads before its wait only what A wrote, "which ended before B began". But B was begun early too: it let C begin in
 * its first line, when A may still be at work. */
#include "bug.h"

enum { N = 32 };

static void a(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *P = sett_param(b, "P", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_griddepcontrol_wait(b);
    sett_set(P, sett_add(sett_at(X, t), 1), t); /* @1 write */
}

static void between(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Q = sett_param(b, "Q", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_griddepcontrol_wait(b);
    sett_set(Q, sett_mul(sett_at(X, t), 3), t);
}

static void c(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_F32, sett_row_major(b, N)), *Q = sett_param(b, "Q", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    if (bug_twin)
        sett_griddepcontrol_wait(b);
    sett_val *p = sett_at(P, sett_sub(N - 1, t)); /* @2 read */
    if (!bug_twin)
        sett_griddepcontrol_wait(b); /* @wait */
    sett_set(Y, sett_add(p, sett_at(Q, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), p = bug_full(0, SETT_F32, N), q = bug_full(0, SETT_F32, N), y = bug_out(SETT_F32, N);
    sett_kernel *k[] = {bug_compile(a, NULL), bug_compile(between, NULL), bug_compile(c, NULL)};
    bug_queue(k[0], &x, &p);
    bug_queue(k[1], &x, &q);
    bug_queue(k[2], &p, &q, &y);
    bug_wait();
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i) + 1 + 3 * bug_get(&x, i));
    return bug_close();
}
