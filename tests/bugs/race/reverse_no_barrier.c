/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the block's barrier between the stores to shared memory and the loads of what other threads stored
 * fix: sett_sync_threads(b) before the load
 * A block turns 256 numbers around by shared memory. A warp that is ahead loads what the last warp has yet to store. An H200 mostly
 * gives right numbers for the warps that run late, and zeros or old contents for the first ones. */
#include "bug.h"

enum { N = 256 };

static void reverse(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(reverse, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
