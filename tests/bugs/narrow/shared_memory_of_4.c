/* SPDX-License-Identifier: Apache-2.0 */
/* kind: narrow
 * missing: alignment of the tile in shared memory to 16 bytes
 * fix: 16 in place of 4
 * The tile asks for 4 bytes, the size of an element. Loads of four elements a thread are four loads. */
#include "bug.h"

enum { N = 128 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, N / 4);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, bug_twin ? 16 : 4); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *x = sett_load(sett_local_tile(X, T1(4), T1(t)));
    sett_store(sett_local_tile(S, T1(4), T1(t)), x); /* @1 write */
    sett_sync_warp(b);
    sett_val *y = sett_load(sett_local_tile(S, T1(4), T1(sett_sub(N / 4 - 1, t)))); /* @1 read */
    sett_store(sett_local_tile(Y, T1(4), T1(t)), y);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(turn, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 4 - i / 4 * 4 + i % 4));
    return bug_close();
}
