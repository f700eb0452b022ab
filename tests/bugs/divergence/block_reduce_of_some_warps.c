/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: the last warp in the block's sum
 * fix: sett_block_reduce by all threads, of 0 where there is no row
 * Warps whose numbers lie past the end skip the block's sum. It has barriers of the whole block inside. */
#include "bug.h"

enum { N = 96 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_block(b, 128);
    sett_val *t = sett_thread_idx(b, 0);
    if (bug_twin) {
        sett_tensor *x = sett_var(b, SETT_F32, 0);
        sett_if (b, sett_lt(t, N))
            sett_set(x, sett_at(X, t), 0);
        sett_val *sum = sett_block_reduce(sett_at(x, 0), SETT_ADD);
        sett_if (b, sett_eq(t, 0))
            sett_set(Y, sum, 0);
    } else {
        sett_if (b, sett_lt(t, N)) {
            sett_val *sum = sett_block_reduce(sett_at(X, t), SETT_ADD); /* @1 barrier */
            sett_if (b, sett_eq(t, 0))
                sett_set(Y, sum, 0);
        }
    }
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
