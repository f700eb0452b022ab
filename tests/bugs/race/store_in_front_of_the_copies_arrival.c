/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: an arrival of the thread: the one of its cp.async tells of its copies, and not of what it stored
 * fix: sett_mbarrier_arrive besides, and a count of 64
 * A producer copies a tile by cp.async and stores a scale beside it. The arrival is performed by its copies when they have come, and releases
 * nothing of the thread. */
#include "bug.h"

enum { N = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *S = sett_param(b, "S", SETT_F32, sett_row_major(b, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, 64);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *scale = sett_make_smem_tensor(b, SETT_F32, 32, 16, .name = "scale"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(full, bug_twin ? 64 : 32);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_cp_async(sett_local_tile(X, T1(4), T1(lane)), sett_local_tile(s, T1(4), T1(lane)));
        sett_set(scale, sett_at(S, lane), lane); /* @1 write */
        sett_cp_async_mbarrier_arrive_noinc(full); /* @arrive */
        if (bug_twin)
            sett_mbarrier_arrive(full);
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0);
        sett_store(sett_local_tile(Y, T1(4), T1(lane)), sett_mul(sett_load(sett_local_tile(s, T1(4), T1(lane))), sett_at(scale, sett_sub(31, lane)))); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), s = bug_in(SETT_F32, 32), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &s, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) * bug_get(&s, 31 - i / 4));
    return bug_close();
}
