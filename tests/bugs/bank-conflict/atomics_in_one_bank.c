/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: bins that lie in different banks: each lane has a histogram of its own, 32 words apart
 * fix: bins of a lane at lane, lane + 32, ...
 * Private histograms avoid atomics at one word, and all of them begin in the same bank. */
#include "bug.h"

enum { N = 32, BINS = 32 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *h = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T(BINS, N), bug_twin ? T(N, 1) : T(1, BINS)), 16, .name = "h"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, i, 0, BINS, 1)
        sett_set(h, 0, sett_mod(sett_add(i, bug_twin ? sett_const(b, SETT_I32, 0) : t), BINS), t);
    sett_atomic_add(h, 1, 5, t); /* @1 atomic */
    sett_set(Y, sett_at(h, 5, t), t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf y = bug_out(SETT_I32, N);
    bug_launch(count, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, 1);
    return bug_close();
}
