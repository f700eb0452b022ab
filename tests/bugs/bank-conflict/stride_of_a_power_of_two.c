/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: an index that is odd in units of the bank
 * fix: neighbours a thread: t in place of t * 8
 * A tree's first levels use every eighth word: thread t adds words 8 t and 8 t + 4. Eight lanes meet in one bank. */
#include "bug.h"

enum { N = 256 };

static void level(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 32));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, 32)) {
        sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
        for (int i = 0; i < 8; i++)
            sett_set(sum, sett_add(sett_at(sum, 0), sett_at(S, bug_twin ? sett_add(t, i * 32) : sett_add(sett_mul(t, 8), i))), 0); /* @1 read */
        sett_set(Y, sett_at(sum, 0), t);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, 32);
    bug_launch(level, &x, &y);
    for (int t = 0; t < 32; t++) {
        double sum = 0;
        for (int i = 0; i < 8; i++)
            sum += bug_get(&x, bug_twin ? t + i * 32 : t * 8 + i);
        bug_expect(&y, t, sum);
    }
    return bug_close();
}
