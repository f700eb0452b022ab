/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: the blocks' last warp in the block's sum: threads past the end do not take part
 * fix: threads past the end add 0
 * The body is for rows below M alone, as a return at the top of a CUDA kernel. In it stands a sum over the block, which all threads
 * must reach. An H200 hangs where whole warps are missing. */
#include "bug.h"

enum { M = 40, N = 64 };

static void sum(sett_build *b, const void *user)
{
    (void)user;
    sett_val *rows = sett_sym(b, "M"); /* a symbol: nobody knows before the launch who is past the end */
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, rows)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, rows));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *in = sett_lt(t, rows);
    if (bug_twin) {
        sett_val *all = sett_block_reduce(sett_load(sett_slice(X, t), .pred = in), SETT_ADD);
        sett_if (b, in)
            sett_set(Y, all, t);
    } else {
        sett_if (b, in)
            sett_set(Y, sett_block_reduce(sett_at(X, t), SETT_ADD), t); /* @1 barrier */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, M), y = bug_out(SETT_F32, M);
    bug_launch(sum, &x, &y);
    double all = 0;
    for (int i = 0; i < M; i++)
        all += bug_get(&x, i);
    for (int i = 0; i < M; i++)
        bug_expect(&y, i, all);
    return bug_close();
}
