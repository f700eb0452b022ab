/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock
 * missing: the producer loads K twice before V, and the consumer holds K until it has seen V
 * fix: the same order on both sides: K, V, K, V
 * K and V have a ring of one stage each, as in attention. The producer runs ahead with the next K, for which it needs K's stage; the
 * consumer gives it back behind V. */
#include "bug.h"

enum { N = 32, TILES = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *K = sett_param(b, "K", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *V = sett_param(b, "V", SETT_F32, sett_row_major(b, TILES, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *sK = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "sK"), *sV = sett_make_smem_tensor(b, SETT_F32, N, 128, .name = "sV");
    sett_pipeline *ofK = sett_pipeline_tma_async(b, .stages = 1, .tx_bytes = N * 4, .consumers = SETT_WARPS(1)), *ofV = sett_pipeline_tma_async(b, .stages = 1, .tx_bytes = N * 4, .consumers = SETT_WARPS(1)); /* @2 init */
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *k = sett_pipeline_producer_state(ofK), *v = sett_pipeline_producer_state(ofV);
        for (int i = 0; i <= TILES; i++) {
            if (i < TILES) {
                sett_producer_acquire(k); /* @1 wait */
                sett_bulk_load(sett_slice(K, i, ALL), sK, sett_pipeline_barrier(k));
                sett_pipeline_advance(k);
            }
            if (bug_twin ? i == TILES : i == 0)
                continue;
            const int tile = bug_twin ? i : i - 1;
            sett_producer_acquire(v);
            sett_bulk_load(sett_slice(V, tile, ALL), sV, sett_pipeline_barrier(v)); /* @2 copy */
            sett_pipeline_advance(v);
        }
    }
    sett_else (b) {
        sett_pipeline_state *k = sett_pipeline_consumer_state(ofK), *v = sett_pipeline_consumer_state(ofV);
        for (int i = 0; i < TILES; i++) {
            sett_consumer_wait(k);
            sett_val *x = sett_at(sK, lane);
            sett_consumer_wait(v); /* @2 wait */
            sett_set(Y, sett_mul(x, sett_at(sV, lane)), i, lane);
            sett_consumer_release(k); /* @2 arrive */
            sett_consumer_release(v);
            sett_pipeline_advance(k), sett_pipeline_advance(v);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf k = bug_in(SETT_F32, TILES, N), v = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(kernel, &k, &v, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&k, i) * bug_get(&v, i));
    return bug_close();
}
