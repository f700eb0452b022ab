/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | divergence
 * missing: whole warps in the barrier's count: it is a number of the launch, 48
 * fix: a multiple of 32
 * As many threads as there are rows meet at a named barrier, and rows are 48. */
#include "bug.h"

enum { N = 64, ROWS = 48 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *rows = sett_at(L, 0);
    sett_set(s, sett_at(X, t), t);
    sett_barrier(b, 1, bug_twin ? sett_mul(sett_floordiv(sett_add(rows, 31), 32), 32) : rows); /* @1 barrier */
    sett_set(Y, sett_at(s, sett_sub(N - 1, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), l = bug_list(SETT_I32, ROWS), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &l, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
