/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: room in registers: a thread has 8 columns, and the loop goes to the row's length
 * fix: registers of as many columns as a row may have, or a test
 * A thread keeps its numbers in an array of registers, at an index that the kernel computes. The row has 9, and the ninth is nobody's. */
#include "bug.h"

enum { COLUMNS = 9, ROOM = 8 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 32, COLUMNS)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 32));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_F32, bug_twin ? 16 : ROOM), *sum = sett_var(b, SETT_F32, 0);
    sett_for (b, k, 0, sett_at(L, 0), 1)
        sett_set(r, sett_at(X, t, k), k); /* @1 write */
    sett_for (b, k, 0, sett_at(L, 0), 1)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(r, k)), 0);
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 32, COLUMNS), l = bug_list(SETT_I32, COLUMNS), y = bug_out(SETT_F32, 32);
    bug_launch(kernel, &x, &l, &y);
    for (int i = 0; i < 32; i++) {
        double sum = 0;
        for (int k = 0; k < COLUMNS; k++)
            sum += bug_get(&x, i * COLUMNS + k);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
