/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the scheduler warp writes the next tile's number while a worker may not have read this one's
 * fix: the workers' arrival at `taken`, and a wait for it in front of the next write
 * A persistent block: one warp takes tile numbers from a list and leaves them in shared memory, the others wait for its arrival, read the
 * number and work. One way only; the number is one word, so what is lost is a whole tile. */
#include "bug.h"

enum { N = 32, TILES = 6 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *list = sett_param(b, "list", SETT_I32, sett_row_major(b, TILES)), *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "tile"), *told = sett_make_mbarriers(b, TILES), *taken = sett_make_mbarriers(b, TILES);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        for (int k = 0; k < TILES; k++) {
            sett_mbarrier_init(sett_slice(told, k), 1);
            sett_mbarrier_init(sett_slice(taken, k), N);
        }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_if (b, sett_eq(lane, 0))
            sett_for (b, k, 0, TILES, 1) {
                if (bug_twin)
                    sett_if (b, sett_gt(k, 0))
                        sett_mbarrier_wait(sett_slice(taken, sett_sub(k, 1)), 0);
                sett_set(tile, sett_at(list, k), 0); /* @2 write */
                sett_mbarrier_arrive(sett_slice(told, k));
            }
    }
    sett_else (b) {
        sett_for (b, k, 0, TILES, 1) {
            sett_mbarrier_wait(sett_slice(told, k), 0);
            sett_val *mine = sett_at(tile, 0); /* @1 read */
            sett_set(Y, sett_neg(sett_at(X, mine, lane)), mine, lane);
            if (bug_twin)
                sett_mbarrier_arrive(sett_slice(taken, k));
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf list = bug_out(SETT_I32, TILES), x = bug_in(SETT_F32, TILES, N), y = bug_full(77, SETT_F32, TILES, N);
    int32_t order[TILES] = {3, 0, 5, 1, 4, 2};
    if (bug_now.code == BUG_RIGHT)
        sett_memcpy(bug_now.e, bug_now.stream, list.data, order, sizeof order);
    bug_launch(kernel, &list, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, -bug_get(&x, i));
    return bug_close();
}
