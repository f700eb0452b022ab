/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | init
 * missing: an arrival: the number of consumers is 0 for this launch, and mbarriers count from 1
 * fix: sett_max(n, 1), and nobody waits
 * The mbarrier's count is a number of the launch. For a launch without consumers it is 0, which no mbarrier can have. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *L = sett_param(b, "L", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *n = sett_at(L, 0);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(bar, bug_twin ? sett_max(n, 1) : n); /* @1 init */
    sett_sync_threads(b);
    sett_set(Y, sett_to(t, SETT_F32), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf l = bug_list(SETT_I32, 0), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &l, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, i);
    return bug_close();
}
