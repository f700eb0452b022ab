/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: a pitch that spreads rows over the banks: 64 halves are 32 words
 * fix: rows of 66 halves
 * A warp stores a row of global memory down a column of a tile of halves. */
#include "bug.h"

enum { N = 32, PITCH = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, N, N)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, N, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, T(N, N), T(bug_twin ? PITCH + 2 : PITCH, 1)), 16, .name = "s"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, i, 0, N, 1)
        sett_set(s, sett_at(X, i, t), t, i); /* @1 write */
    sett_sync_threads(b);
    sett_for (b, i, 0, N, 1)
        sett_set(Y, sett_at(s, i, t), i, t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, N, N), y = bug_out(SETT_F16, N, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N * N; i++)
        bug_expect(&y, i, bug_get(&x, i % N * N + i / N));
    return bug_close();
}
