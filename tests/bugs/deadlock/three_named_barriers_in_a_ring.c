/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: one order of the barriers: each of three warps waits first for the next one
 * fix: one warp that begins with the other barrier
 * Three warps hand over to each other, each by a barrier of its neighbours. All begin with the barrier to the right. */
#include "bug.h"

enum { N = 96 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *warp = sett_warp_idx(b), *right = sett_add(warp, 1), *left = sett_add(sett_mod(sett_add(warp, 2), 3), 1);
    sett_set(s, sett_at(X, t), t);
    if (bug_twin) {
        sett_sync_threads(b);
    } else {
        sett_barrier(b, right, 64); /* @1 barrier @2 barrier */
        sett_barrier(b, left, 64); /* @2 barrier */
    }
    sett_set(Y, sett_at(s, sett_sub(N - 1, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
