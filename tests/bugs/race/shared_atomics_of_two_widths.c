/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | order
 * missing: one width: a warp adds to the two halves of a word by themselves, another to the word of 64 bits
 * fix: counters of one type, or words of their own
 * A pair of counters is one word of 64 bits for those who add to both, and two words of 32 for those who add to one. Atomics are such among
 * those of the same place and width. */
#include "bug.h"

enum { N = 32 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_I64, sett_row_major(b, 1));
    sett_block(b, 2 * N);
    sett_tensor *both = sett_make_smem_tensor(b, SETT_I64, 2, 16, .name = "both"), *halves = sett_smem_alias(both, SETT_I32, 4);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, 2))
        sett_set(both, 0, t);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_atomic_add(both, INT64_C(1) << 32 | 1, 0); /* @1 atomic */
    sett_else (b)
        sett_atomic_add(halves, 2, bug_twin ? 2 : 0); /* @2 atomic */
    sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_add(sett_at(both, 0), bug_twin ? sett_at(both, 1) : sett_const(b, SETT_I64, 0)), 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf y = bug_out(SETT_I64, 1);
    bug_launch(count, &y);
    bug_expect(&y, 0, (double)((INT64_C(32) << 32) + 32 + 64));
    return bug_close();
}
