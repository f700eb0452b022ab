/* SPDX-License-Identifier: Apache-2.0 */
/* kind: pdl
 * missing: the producer warp begins its copies before the kernel in front has ended
 * fix: sett_griddepcontrol_wait(b) in the producer, in front of the first copy
 * The consumers wait for the kernel in front, the producer warp, which alone reads global memory, does not. The copy is the access that
 * counts, not the line that uses its bytes. */
#include "bug.h"

enum { N = 32, TILES = 4, STAGES = 2 };

static void first(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *M = sett_param(b, "M", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, TILES), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_set(M, sett_at(X, m, t), m, t); /* @1 write */
}

static void second(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *M = sett_param(b, "M", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 128, .name = "ring");
    sett_pipeline *pipe = sett_pipeline_cp_async(b, .stages = STAGES, .producers = SETT_THREADS(N), .consumers = SETT_WARPS(1));
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        if (bug_twin)
            sett_griddepcontrol_wait(b);
        sett_for (b, k, 0, TILES, 1) {
            sett_producer_acquire(put);
            sett_tensor *to = sett_local_tile(sett_slice(ring, ALL, sett_pipeline_stage(put)), T1(1), T1(lane));
            sett_cp_async(sett_local_tile(sett_slice(M, k, ALL), T1(1), T1(lane)), to); /* @2 copy */
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_griddepcontrol_wait(b); /* @wait */
        sett_for (b, k, 0, TILES, 1) {
            sett_consumer_wait(get);
            sett_set(Y, sett_mul(sett_at(ring, lane, sett_pipeline_stage(get)), 2), k, lane);
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), m = bug_full(0, SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
    bug_queue(k[0], &x, &m);
    bug_queue(k[1], &m, &y);
    bug_wait();
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
