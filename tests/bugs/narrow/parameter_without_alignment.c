/* SPDX-License-Identifier: Apache-2.0 */
/* kind: narrow
 * missing: the promise that the vectors begin at 16 bytes
 * fix: .align = 16 at both parameters
 * A thread has four elements, which could be one access of 16 bytes. Nothing is promised of the addresses, so that they are four of 4
 * bytes, and four times as many instructions. */
#include "bug.h"

enum { N = 128 };

static void twice(sett_build *b, const void *user)
{
    (void)user;
    const int align = bug_twin ? 16 : 4;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = align), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = align); /* @alloc */
    sett_block(b, N / 4);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_load(sett_local_tile(X, T1(4), T1(t))); /* @1 read */
    sett_store(sett_local_tile(Y, T1(4), T1(t)), sett_mul(x, 2)); /* @1 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(twice, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
