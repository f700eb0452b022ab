/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: a release by SETT_WARP_GROUPS is for stages that wgmma reads; here threads load from the stage
 * fix: sett_fence_view_async_shared(b) in each thread, in front of the barrier of the group
 * public: Triton #7262
 * A warp group takes the scales of a tile from its stage by loads, meets and releases. This release has no fence of its own. On an H200 the
 * next copy comes long after the loads. */
#include "bug.h"

enum { N = 128, TILES = 6, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, N + 32);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARP_GROUPS(1));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_ge(t, N)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @2 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(Y, sett_at(ring, t, sett_pipeline_stage(get)), k, t); /* @1 read */
            if (bug_twin)
                sett_fence_view_async_shared(b);
            sett_barrier(b, 1, N);
            sett_consumer_release(get); /* @release */
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
