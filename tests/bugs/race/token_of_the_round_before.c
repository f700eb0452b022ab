/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the answer that lets the wait be left out was about the stage before
 * fix: ask again by sett_consumer_try_wait behind each sett_pipeline_advance
 * A consumer asks early whether its stage is full, and waits only if it was not. The question is asked once, in front of the loop; from the
 * second tile on a wait is left out that nobody has asked about. If the first answer was no, all is right, and slower. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring"), *asked = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(asked, N);
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = STAGES, .tx_bytes = N * 4, .consumers = SETT_WARPS(1));
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, TILES, 1) {
            sett_if (b, sett_eq(k, 1))
                sett_mbarrier_wait(asked, 0);
            sett_producer_acquire(put);
            sett_bulk_load(sett_slice(X, k, ALL), sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_pipeline_barrier(put)); /* @1 copy */
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe), *end = sett_pipeline_consumer_state(pipe);
        sett_tensor *came = sett_var(b, SETT_BOOL, 0);
        sett_consumer_wait(get); /* tile 0 is there: the answer is yes */
        sett_set(came, sett_consumer_try_wait(get), 0);
        sett_mbarrier_arrive(asked);
        sett_for (b, k, 0, TILES, 1) { /* as many tiles as stages: nobody waits for a release */
            sett_consumer_wait(get, sett_at(came, 0)); /* @wait */
            sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), k, lane); /* @2 read */
            sett_pipeline_advance(get);
            if (bug_twin)
                sett_if (b, sett_lt(k, TILES - 1))
                    sett_set(came, sett_consumer_try_wait(get), 0);
        }
        sett_for (b, k, 0, TILES, 1) { /* no copy outlives the block */
            sett_consumer_wait(end);
            sett_pipeline_advance(end);
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
