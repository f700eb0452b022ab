/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: rows whose pitch spreads threads over the banks
 * fix: rows of 20 words in place of 16
 * A thread has a row of 16 words and loads it 16 bytes at a time. Rows are 64 bytes apart, so of eight lanes that go together four use
 * the same banks: four wavefronts for each. */
#include "bug.h"

enum { ROWS = 32, N = 16 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N, ROWS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS));
    sett_block(b, ROWS);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(ROWS, N), T(bug_twin ? N + 4 : N, 1)), 16); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    for (int i = 0; i < N / 4; i++) {
        sett_tensor *four = sett_local_tile(sett_slice(S, t, ALL), T1(4), T1(i));
        sett_copy(sett_local_tile(sett_slice(X, ALL, t), T1(4), T1(i)), four); /* @1 write */
    }
    sett_sync_warp(b);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    for (int i = 0; i < N / 4; i++) {
        sett_val *four = sett_load(sett_local_tile(sett_slice(S, sett_sub(ROWS - 1, t), ALL), T1(4), T1(i))); /* @1 read */
        sett_set(sum, sett_reduce(four, SETT_ADD, sett_at(sum, 0)), 0);
    }
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N, ROWS), y = bug_out(SETT_F32, ROWS);
    bug_launch(sums, &x, &y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += bug_get(&x, i * ROWS + ROWS - 1 - r);
        bug_expect(&y, r, sum);
    }
    return bug_close();
}
