/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release and acquire of a flag in shared memory between two warps
 * fix: SETT_SEM_RELEASE at the exchange and SETT_SEM_ACQUIRE at the poll, both of scope CTA
 * A warp publishes a row by a flag in shared memory, which another one polls. The atomics are relaxed; shared memory "is in order
 * anyway", and PTX does not say so. An H200 gives right numbers. */
#include "bug.h"

static void pass_on(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 32));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 32, 16), *F = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "flag");
    const sett_sem release = bug_twin ? SETT_SEM_RELEASE : SETT_SEM_RELAXED, acquire = bug_twin ? SETT_SEM_ACQUIRE : SETT_SEM_RELAXED;
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(t, 0))
        sett_set(F, 0, 0);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_set(S, sett_at(X, lane), lane); /* @1 write */
        sett_sync_warp(b);
        sett_if (b, sett_eq(lane, 0))
            sett_atomic_ordered(F, SETT_ATOMIC_EXCH, release, SETT_SCOPE_CTA, 1, 0); /* @release */
    }
    sett_else (b) {
        sett_if (b, sett_eq(lane, 0))
            sett_while (b, sett_eq(sett_atomic_ordered(F, SETT_ATOMIC_ADD, acquire, SETT_SCOPE_CTA, 0, 0), 0)) /* @wait */
                ;
        sett_sync_warp(b);
        sett_set(Y, sett_at(S, sett_sub(31, lane)), lane); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 32), y = bug_out(SETT_F32, 32);
    bug_launch(pass_on, &x, &y);
    for (int i = 0; i < 32; i++)
        bug_expect(&y, i, bug_get(&x, 31 - i));
    return bug_close();
}
