/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier before the alias is written: it begins in the first half of the stage, and ends in the second, which is still read
 * fix: sett_sync_threads(b) before the alias is written
 * A stage has two halves. The first one was read by all, behind a barrier, so its bytes serve as scratch memory; but the scratch array
 * is larger than the half, and its last row lies in the second half, which the other warp still sums up. An H200 spoils that warp's
 * last numbers. */
#include "bug.h"

enum { HALF = 64 };

static void halves(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * HALF)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, HALF));
    sett_block(b, HALF);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 2 * HALF, 16, .name = "stage");
    sett_tensor *scratch = sett_smem_alias(S, SETT_F32, HALF + 32);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    sett_set(S, sett_at(X, sett_add(t, HALF)), sett_add(t, HALF));
    sett_sync_threads(b);
    sett_val *first = sett_at(S, sett_sub(HALF - 1, t));
    sett_sync_threads(b);
    sett_val *second = sett_at(S, sett_add(HALF, t)); /* @2 read */
    if (bug_twin)
        sett_sync_threads(b);
    sett_set(scratch, sett_add(first, second), sett_add(t, 32)); /* @1 write */
    sett_sync_threads(b);
    sett_set(Y, sett_at(scratch, sett_add(32, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2 * HALF), y = bug_out(SETT_F32, HALF);
    bug_launch(halves, &x, &y);
    for (int i = 0; i < HALF; i++)
        bug_expect(&y, i, bug_get(&x, HALF - 1 - i) + bug_get(&x, HALF + i));
    return bug_close();
}
