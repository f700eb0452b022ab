/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a value of the running maximum of a group without rows: the loop that sets it never ran
 * fix: one thread sets the maximum before the loop
 * Groups of rows have lengths that only the device knows. The first row of a group sets the group's maximum in shared memory, the
 * others raise it. A group of no rows gives what an earlier block left there, in this launch alone. An H200 gives the maximum of
 * another group. */
#include "bug.h"

enum { GROUPS = 4, ROWS = 3 };

static void most(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, GROUPS, ROWS)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, GROUPS));
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, GROUPS));
    sett_grid(b, GROUPS);
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, 1, 16); /* @alloc */
    sett_val *group = sett_block_idx(b, 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        if (bug_twin)
            sett_set(S, -1000, 0);
        sett_for (b, row, 0, sett_at(L, group), 1) {
            sett_if (b, sett_eq(row, 0))
                sett_set(S, sett_at(X, group, row), 0); /* @write */
            sett_else (b)
                sett_set(S, sett_max(sett_at(S, 0), sett_at(X, group, row)), 0);
        }
        sett_set(Y, sett_at(S, 0), group); /* @1 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, GROUPS, ROWS), l = bug_list(SETT_I32, 2, 0, 3, 1), y = bug_out(SETT_I32, GROUPS);
    bug_launch(most, &x, &l, &y);
    for (int g = 0; g < GROUPS; g++) {
        double best = -1000;
        for (int i = 0; i < bug_get(&l, g); i++)
            best = fmax(best, bug_get(&x, g * ROWS + i));
        bug_expect(&y, g, best);
    }
    return bug_close();
}
