/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the bulk store of the round before has not read the buffer that is written again
 * fix: sett_tma_store_wait_read(b, 0) by the warp that stored, then the barrier
 * public: TileOPs #1550
 * One buffer, filled by all threads and stored in bulk, round after round. The barrier at the head of the round says that all threads are
 * there; that the copy has read is said by its group alone. On an H200 the store usually wins, since threads need longer than it does. */
#include "bug.h"

enum { THREADS = 64, ROUNDS = 5 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(sett_warp_idx(b), 0);
    sett_for (b, k, 0, ROUNDS, 1) {
        if (bug_twin)
            sett_if (b, first)
                sett_tma_store_wait_read(b, 0);
        sett_sync_threads(b);
        sett_set(s, sett_mul(sett_at(X, k, t), 2), t); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, first) {
            sett_bulk_store(s, sett_slice(Y, k, ALL)); /* @1 copy */
            sett_tma_store_commit(b);
        }
    }
    sett_if (b, first)
        sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, THREADS), y = bug_out(SETT_F32, ROUNDS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
