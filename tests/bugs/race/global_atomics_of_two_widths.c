/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race | order
 * missing: one width: blocks add to a word of 64 bits, and to its lower half
 * fix: both by 64 bits
 * A pair of counters, as in shared memory, for all blocks: block 0 adds to both at once, block 1 to the first. */
#include "bug.h"

enum { N = 32 };

static void count(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *C = sett_param(b, "C", SETT_U64, sett_row_major(b, 1)), *A = sett_param(b, "A", SETT_U64, sett_row_major(b, 1));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *low = sett_make_gmem_tensor(b, SETT_U32, sett_at(A, 0), 2, 8);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0))
        sett_atomic_add(C, UINT64_C(1) << 32 | 1, 0); /* @1 atomic */
    sett_else (b) {
        if (bug_twin)
            sett_atomic_add(C, 2, 0);
        else
            sett_atomic_add(low, 2, 0); /* @2 atomic */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf c = bug_full(0, SETT_U64, 1), a = bug_full(0, SETT_U64, 1);
    const uint64_t at = (uintptr_t)c.data;
    if (!bug_now.code && sett_memcpy(bug_now.e, bug_now.stream, a.data, &at, sizeof at))
        bug_fail(BUG_MACHINE, "a copy to the device failed");
    bug_launch(count, &c, &a);
    bug_expect(&c, 0, (double)((UINT64_C(32) << 32) + 32 + 64));
    return bug_close();
}
