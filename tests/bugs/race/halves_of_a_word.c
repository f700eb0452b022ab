/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: ownership of 16-bit elements: the ranges of two warps overlap by one
 * fix: ranges of 32 elements
 * Two warps store halves of a row of 16-bit numbers, 33 each, as the second begins at 32. Both store element 32, with different
 * numbers; the other half of that word is nobody else's. An H200 gives either number. */
#include "bug.h"

enum { N = 65 };

static void row(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I16, N + 1, 16);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_val *end = sett_add(sett_const(b, SETT_I32, bug_twin ? 32 : 33), bug_twin ? warp : sett_const(b, SETT_I32, 0));
    sett_for (b, i, lane, end, 32)
        sett_set(S, sett_to(sett_add(sett_mul(warp, 1000), i), SETT_I16), sett_add(sett_mul(warp, 32), i)); /* @1 write */
    sett_sync_threads(b);
    sett_for (b, i, t, N, 64)
        sett_set(Y, sett_to(sett_at(S, i), SETT_I32), i);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf y = bug_out(SETT_I32, N);
    bug_launch(row, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, i < 32 ? i : 1000 + i - 32);
    return bug_close();
}
