/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: bulk groups are of the thread that stored; warp 0, which waits, has none
 * fix: the warp that stores waits: sett_tma_store_wait_read in warp 1
 * public: TransformerEngine #3417
 * Warp 1 stores, and warp 0 waits before all refill the buffer. A wait of a thread that issued nothing ends at once. Nothing fails on an
 * H200 until the store is slow. */
#include "bug.h"

enum { THREADS = 64, ROUNDS = 4, STORER = 1 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, THREADS), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 128, .name = "s");
    sett_val *t = sett_thread_idx(b, 0), *warp = sett_warp_idx(b);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_set(s, sett_at(X, k, sett_xor(t, 1)), t); /* @2 write */
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, sett_eq(warp, STORER)) {
            sett_bulk_store(s, sett_slice(Y, k, ALL)); /* @1 copy */
            sett_tma_store_commit(b);
        }
        sett_if (b, sett_eq(warp, bug_twin ? STORER : 0))
            sett_tma_store_wait_read(b, 0); /* @wait */
        sett_sync_threads(b);
    }
    sett_if (b, sett_eq(warp, STORER))
        sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, THREADS), y = bug_out(SETT_F32, ROUNDS, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 1));
    return bug_close();
}
