/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the copy is in no group that the wait names
 * fix: sett_cp_async_commit_group behind the copy, not in front of it
 * Two buffers. The commit closes the group of the copies before it, so the newest copy belongs to the next round's group and a wait
 * for all but one group leaves out two copies. An H200 gives right numbers on small inputs. */
#include "bug.h"

enum { THREADS = 32, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, THREADS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, 2)), 16, .name = "two");
    sett_val *t = sett_thread_idx(b, 0);
    for (int k = 0; k <= TILES; k++) {
        if (!bug_twin)
            sett_cp_async_commit_group(b);
        if (k < TILES)
            sett_cp_async(sett_local_tile(sett_slice(X, k, ALL), T1(1), T1(t)), sett_local_tile(sett_slice(two, ALL, k % 2), T1(1), T1(t))); /* @1 copy */
        if (bug_twin)
            sett_cp_async_commit_group(b);
        if (!k)
            continue;
        sett_cp_async_wait_group(b, 1); /* @wait */
        sett_set(Y, sett_at(two, t, (k - 1) % 2), k - 1, t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, THREADS), y = bug_out(SETT_F32, TILES, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
