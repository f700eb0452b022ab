/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: nobody has released a stage when the ring is new: the producer's first wait must be for the parity that counts as ended
 * fix: the producer's parity begins at 1
 * Both sides start at parity 0. The producer waits for a release of a stage that was never full, the consumer for a stage that is never
 * filled. It hangs at once, on an H200 too. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16, .name = "ring"), *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), N);
            sett_mbarrier_init(sett_slice(empty, i), N);
        }
    sett_sync_threads(b);
    sett_for (b, k, 0, TILES, 1) {
        sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
        sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
            sett_mbarrier_wait(sett_slice(empty, stage), bug_twin ? sett_sub(1, parity) : parity); /* @1 wait */
            sett_set(ring, sett_at(X, k, lane), lane, stage);
            sett_mbarrier_arrive(sett_slice(full, stage));
        }
        sett_else (b) {
            sett_mbarrier_wait(sett_slice(full, stage), parity); /* @wait */
            sett_set(Y, sett_at(ring, sett_sub(N - 1, lane), stage), k, lane);
            sett_mbarrier_arrive(sett_slice(empty, stage)); /* @arrive */
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
