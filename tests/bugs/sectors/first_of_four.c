/* SPDX-License-Identifier: Apache-2.0 */
/* kind: sectors
 * missing: a layout that has what is used together side by side
 * fix: an array for each component
 * Points of four numbers, of which the kernel uses the first: a load of a warp touches 16 sectors for 128 bytes, and three quarters of
 * what comes are thrown away. */
#include "bug.h"

enum { N = 64 };

static void twice(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(N, 4), bug_twin ? T(1, N) : T(4, 1))), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(Y, sett_mul(sett_at(X, t, 0), 2), t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N, 4), y = bug_out(SETT_F32, N), planes = x;
    planes.stride[0] = 1, planes.stride[1] = N;
    bug_launch(twice, bug_twin ? &planes : &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, bug_twin ? i : 4 * i));
    return bug_close();
}
