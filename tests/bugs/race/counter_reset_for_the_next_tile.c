/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of a tile's count and the zero for the next tile
 * fix: sett_sync_threads(b) before the zero
 * Tiles are compacted one after another: threads take places by a counter in shared memory, then all read how many there were. Thread
 * 0 zeroes the counter for the next tile while others read. An H200 loses a tile's numbers now and then. */
#include "bug.h"

enum { TILES = 3, N = 64 };

static void compact(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *C = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "count"), *all = sett_var(b, SETT_I32, 0);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(t, 0);
    sett_if (b, first)
        sett_set(C, 0, 0);
    sett_for (b, tile, 0, TILES, 1) {
        sett_sync_threads(b);
        sett_if (b, sett_gt(sett_at(X, tile, t), 0))
            sett_atomic_add(C, 1, 0);
        sett_sync_threads(b);
        sett_set(all, sett_add(sett_at(all, 0), sett_at(C, 0)), 0); /* @2 read */
        if (bug_twin)
            sett_sync_threads(b);
        sett_if (b, first)
            sett_set(C, 0, 0); /* @1 write */
    }
    sett_set(Y, sett_at(all, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, TILES, N), y = bug_out(SETT_I32, N);
    bug_launch(compact, &x, &y);
    int positive = 0;
    for (int i = 0; i < TILES * N; i++)
        positive += bug_get(&x, i) > 0;
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, positive);
    return bug_close();
}
