/* SPDX-License-Identifier: Apache-2.0 */
/* kind: sectors
 * missing: counters that lie side by side: each has a row of 128 bytes of its own
 * fix: counters in one row
 * A thread a counter, and the counters are the first words of rows that have other things as well. */
#include "bug.h"

enum { N = 64, PITCH = 32 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, N, PITCH));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    if (bug_twin)
        sett_atomic_add(C, 1, sett_floordiv(t, PITCH), sett_mod(t, PITCH));
    else
        sett_atomic_add(C, 1, t, 0); /* @1 atomic */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf c = bug_full(0, SETT_I32, N, PITCH);
    bug_launch(count, &c);
    for (int i = 0; i < N; i++)
        bug_expect(&c, bug_twin ? i : i * PITCH, 1);
    return bug_close();
}
