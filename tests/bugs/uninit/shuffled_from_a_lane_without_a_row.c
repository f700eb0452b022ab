/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a value in the lanes past the end, from which the others take theirs
 * fix: sett_var(b, SETT_F32, 0)
 * Twenty lanes have a number, and a butterfly adds up all 32 registers. */
#include "bug.h"

enum { N = 20 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *x = bug_twin ? sett_var(b, SETT_F32, 0) : sett_make_rmem_tensor(b, SETT_F32, 1); /* @alloc */
    sett_if (b, sett_lt(t, N))
        sett_set(x, sett_at(X, t), 0);
    sett_val *sum = sett_warp_reduce(sett_at(x, 0), SETT_ADD, 32); /* @1 read */
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sum, 0); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 1);
    bug_launch(kernel, &x, &y);
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += bug_get(&x, i);
    bug_expect(&y, 0, sum);
    return bug_close();
}
