/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a test of the codes: one of them is as large as the table
 * fix: sett_gather(..., .pred = sett_lt(code, ROWS))
 * Codes of a quantised row are looked up in a table of 16. One code is 16, "padding". */
#include "bug.h"

enum { N = 32, TABLE = 16 };

static void look_up(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, N)), *V = sett_param(b, "V", SETT_F32, sett_row_major(b, TABLE)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *code = sett_at(C, t);
    sett_set(Y, sett_gather(V, code, .pred = bug_twin ? sett_lt(code, TABLE) : NULL), t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    double code[N];
    for (int i = 0; i < N; i++)
        code[i] = i == 9 ? TABLE : i % TABLE;
    sett_buf c = bug_listed(SETT_I32, N, code), v = bug_in(SETT_F32, TABLE), y = bug_out(SETT_F32, N);
    bug_launch(look_up, &c, &v, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, i == 9 ? 0 : bug_get(&v, i % TABLE));
    return bug_close();
}
