/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a predicate for entries that mean "nowhere": -1 is used as a row
 * fix: .pred = sett_ge(row, 0)
 * Tokens go to rows by a table; those that no expert takes have -1. The scatter takes it for a row, in front of the tensor. An H200
 * overwrites the allocation before. */
#include "bug.h"

enum { ROWS = 8, TOKENS = 6, N = 32 };

static void scatter(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TOKENS, N)), *P = sett_param(b, "P", SETT_I32, sett_row_major(b, TOKENS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_grid(b, TOKENS);
    sett_block(b, N);
    sett_val *token = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0), *row = sett_at(P, token);
    sett_store(sett_slice(Y, row, t), sett_at(X, token, t), .pred = bug_twin ? sett_ge(row, 0) : NULL); /* @1 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TOKENS, N), p = bug_list(SETT_I32, 3, 0, -1, 7, 1, 5), y = bug_full(100, SETT_F32, ROWS, N);
    bug_launch(scatter, &x, &p, &y);
    for (int k = 0; k < TOKENS; k++)
        for (int i = 0; i < N && bug_get(&p, k) >= 0; i++)
            bug_expect(&y, (int)bug_get(&p, k) * N + i, bug_get(&x, k * N + i));
    return bug_close();
}
