/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the other lanes' wait: one lane waits for the mbarrier, and all read the tile
 * fix: sett_mbarrier_wait in all lanes, or sett_sync_warp(b) behind the branch
 * To save 31 lanes a spin, one lane waits for the copy, in a branch. Behind the branch nothing tells the others what that lane knows. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(full, N * 4);
    }
    sett_sync_threads(b);
    sett_bulk_load(X, s, full); /* @1 copy */
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_wait(full, 0); /* @wait */
    if (bug_twin)
        sett_sync_warp(b);
    for (int k = 0; k < 2; k++)
        sett_set(Y, sett_at(s, sett_add(t, k * 32)), sett_add(t, k * 32)); /* @2 read */
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
