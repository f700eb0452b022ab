/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a value of the register where the branch is not taken
 * fix: a value at its declaration: sett_fill(scale, 1.0)
 * A scale is set where a row is in the first half, and used for all rows. In the other rows it is what the register had. An H200 gives
 * wrong rows that change with the compiler. */
#include "bug.h"

enum { N = 64 };

static void scale(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *factor = sett_make_rmem_tensor(b, SETT_F32, 1); /* @alloc */
    if (bug_twin)
        sett_fill(factor, 1.0);
    sett_if (b, sett_lt(t, N / 2))
        sett_set(factor, 3.0, 0);
    sett_set(Y, sett_mul(sett_at(X, t), sett_at(factor, 0)), t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(scale, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) * (i < N / 2 ? 3 : 1));
    return bug_close();
}
