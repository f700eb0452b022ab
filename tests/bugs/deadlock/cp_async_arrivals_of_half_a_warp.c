/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock | barrier-count
 * missing: arrivals of the lanes that copy nothing: the phase waits for 32, and 16 lanes copy and arrive
 * fix: sett_cp_async_mbarrier_arrive_noinc of all lanes, behind the branch
 * A row has 64 numbers, that is 16 lanes with 16 bytes each. Copy and arrival stand in the branch of these lanes, and the mbarrier was made
 * for a warp. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 64);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(full, 32); /* @2 init */
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_if (b, sett_lt(t, N / 4)) {
            sett_cp_async(sett_local_tile(X, T1(4), T1(t)), sett_local_tile(s, T1(4), T1(t)));
            if (!bug_twin)
                sett_cp_async_mbarrier_arrive_noinc(full); /* @2 arrive */
        }
        if (bug_twin)
            sett_cp_async_mbarrier_arrive_noinc(full);
    }
    sett_mbarrier_wait(full, 0); /* @1 wait */
    sett_set(Y, sett_at(s, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
