/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the mask of the workspace, which has elements of a byte
 * fix: fill the mask before the launch
 * A mask of a byte for each row, which a kernel in front fills where there are rows. This launch has none of it. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *M = sett_param(b, "M", SETT_I8, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_ne(sett_at(M, t), 0)) /* @1 read */
        sett_set(Y, sett_at(X, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), m = bug_twin ? bug_full(1, SETT_I8, N) : bug_out(SETT_I8, N), y = bug_full(0, SETT_F32, N);
    bug_launch(kernel, &x, &m, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
