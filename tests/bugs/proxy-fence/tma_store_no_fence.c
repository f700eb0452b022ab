/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the stores to shared memory are of the generic proxy, and TMA reads by the async proxy: a barrier does not order the two
 * fix: sett_fence_view_async_shared(b) in each thread behind its stores, in front of the barrier
 * public: Triton #9610
 * An epilogue through shared memory: threads turn a tile around, meet, and one warp stores it by TMA. An H200 gives right numbers nearly
 * always, as the stores have left the threads by then. */
#include "bug.h"

enum { TILE = 32, THREADS = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILE, TILE)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILE, TILE), .align = 16);
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, TILE, TILE), 1024, .name = "out");
    sett_tma *map = sett_make_tma(Y, .smem = out, .tile = T(TILE, TILE));
    sett_val *t = sett_thread_idx(b, 0);
    sett_layout *threads = sett_make_layout(b, T(4, 32), T(32, 1));
    sett_copy(sett_local_partition(X, threads, t), sett_local_partition(sett_select(out, 1, 0), threads, t)); /* @1 write */
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_tma_store(map, out, sett_local_tile(sett_tma_tensor(map), T(TILE, TILE), T(0, 0))); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILE, TILE), y = bug_out(SETT_F32, TILE, TILE);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILE * TILE; i++)
        bug_expect(&y, i, bug_get(&x, i % TILE * TILE + i / TILE));
    return bug_close();
}
