/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: a wait of the warps that load the residual: the producer has waited, and they learn of the tile alone, before the residual is read
 * fix: sett_griddepcontrol_wait(b) in the warps that read what the kernel in front wrote
 * One warp waits for the kernel in front and loads tiles. The other one needs no tile to begin with: it loads the residual first, which the
 * kernel in front writes as well. */
#include "bug.h"

enum { N = 32 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *R = sett_param(b, "R", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(R, sett_mul(sett_at(X, t), 2), t); /* @1 write */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *R = sett_param(b, "R", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_griddepcontrol_wait(b); /* @wait */
        sett_set(s, sett_at(X, lane), lane);
        sett_barrier_arrive(b, 1, 2 * N);
    }
    sett_else (b) {
        if (bug_twin)
            sett_griddepcontrol_wait(b);
        sett_val *r = sett_at(R, lane); /* @2 read */
        sett_barrier(b, 1, 2 * N);
        sett_set(Y, sett_add(r, sett_at(s, sett_sub(N - 1, lane))), lane);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), r = bug_full(0, SETT_F32, N), y = bug_out(SETT_F32, N);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(k[0], &x, &r);
    bug_queue(k[1], &x, &r, &y);
    bug_wait();
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i) + bug_get(&x, N - 1 - i));
    return bug_close();
}
