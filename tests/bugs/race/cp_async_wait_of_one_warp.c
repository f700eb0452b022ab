/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: groups of cp.async are a thread's own: the wait of warp 0 says nothing about copies of warps 1 to 3
 * fix: sett_cp_async_wait_all in every thread that copied, in front of the barrier
 * All threads copy, "one warp waits for the block", and a barrier follows. The barrier does not carry what nobody has waited for. An
 * H200 gives right numbers, since warp 0's copies are as slow as the others'. */
#include "bug.h"

enum { THREADS = 128, VALUES = 4, N = THREADS * VALUES };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 1, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0);
    sett_cp_async(sett_local_tile(sett_slice(X, 0, ALL), T1(VALUES), T1(t)), sett_local_tile(s, T1(VALUES), T1(t))); /* @1 copy */
    sett_cp_async_commit_group(b);
    if (bug_twin)
        sett_cp_async_wait_group(b, 0);
    else
        sett_if (b, sett_eq(sett_warp_idx(b), 0))
            sett_cp_async_wait_group(b, 0); /* @wait */
    sett_sync_threads(b);
    sett_set(Y, sett_at(s, sett_add(t, N - THREADS)), 0, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 1, N), y = bug_out(SETT_F32, 1, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, bug_get(&x, N - THREADS + i));
    return bug_close();
}
