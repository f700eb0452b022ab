/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: lane 0 releases what it stored itself; the other lanes' stores are behind no release
 * fix: sett_sync_warp(b) between the stores and the release
 * A warp writes a row, and its first lane raises the flag. */
#include "bug.h"

enum { N = 32 };

static void hand_over(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, N)), *F = sett_param(b, "F", SETT_I32, sett_row_major(b, 1)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_grid(b, 2), sett_block(b, N), sett_cooperative(b);
    sett_val *t = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0)) {
        sett_set(D, sett_add(t, 1), t); /* @1 write */
        if (bug_twin)
            sett_sync_warp(b);
        sett_if (b, sett_eq(t, 0))
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0); /* @atomic */
    }
    sett_else (b) {
        sett_if (b, sett_eq(t, 0))
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0)) /* @atomic */
                ;
        sett_sync_warp(b);
        sett_set(Y, sett_at(D, t), t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf d = bug_out(SETT_I32, N), f = bug_full(0, SETT_I32, 1), y = bug_out(SETT_I32, N);
    bug_launch(hand_over, &d, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, i + 1);
    return bug_close();
}
