/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: ldmatrix reads by the generic proxy, as any load; the release of the stage needs the fence
 * fix: sett_fence_view_async_shared(b) behind ldmatrix, in front of sett_mbarrier_arrive
 * public: TransformerEngine #2695
 * TMA fills the stages of a product by mma.sync. "ldmatrix is a matrix instruction" is taken for "of the proxy of wgmma", for which no fence
 * would be needed. */
#include "bug.h"

enum { M = 16, K = 64, TILES = 6, STAGES = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, TILES * K), .align = 16), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, M, TILES * K), .align = 16);
    sett_grid(b, 1), sett_block(b, 64);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, M, K, STAGES), 1024, .name = "ring");
    sett_tensor *full = sett_make_mbarriers(b, STAGES), *empty = sett_make_mbarriers(b, STAGES);
    sett_tma *map = sett_make_tma(X, .smem = ring, .tile = T(M, K));
    sett_tensor *from = sett_local_tile(sett_tma_tensor(map), T(M, K), T(0, ALL));
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(full, i), 1);
            sett_mbarrier_init(sett_slice(empty, i), 1);
        }
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
            sett_mbarrier_wait(sett_slice(empty, stage), sett_sub(1, parity));
            sett_mbarrier_arrive_and_expect_tx(sett_slice(full, stage), sett_tma_bytes(map), .pred = sett_elect_one(b));
            sett_tma_load(map, sett_slice(from, ALL, ALL, k), sett_slice(ring, ALL, ALL, stage), sett_slice(full, stage)); /* @2 copy */
        }
    }
    sett_else (b) {
        sett_mma_atom *atom = sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8, .k = 16);
        sett_tiled_mma *mma = sett_make_tiled_mma(atom, T(1, 1, 1), ALL);
        sett_thr_mma *part = sett_get_slice(mma, sett_lane_idx(b));
        sett_tiled_copy *copy = sett_make_tiled_copy_A(sett_ldmatrix(b, SETT_F16, 4, false), mma);
        sett_thr_copy *mine = sett_get_slice(copy, sett_lane_idx(b));
        sett_for (b, k, 0, TILES, 1) {
            sett_val *stage = sett_mod(k, STAGES), *parity = sett_mod(sett_floordiv(k, STAGES), 2);
            sett_tensor *s = sett_slice(ring, ALL, ALL, stage), *rA = sett_make_fragment_A(mma, sett_partition_A(part, s));
            sett_mbarrier_wait(sett_slice(full, stage), parity);
            sett_copy(copy, sett_partition_S(mine, s), sett_retile(mine, rA)); /* @1 read */
            if (bug_twin)
                sett_fence_view_async_shared(b);
            sett_sync_warp(b);
            sett_mbarrier_arrive(sett_slice(empty, stage), .pred = sett_elect_one(b)); /* @arrive */
            sett_copy(rA, sett_partition_A(part, sett_local_tile(Y, T(M, K), T(0, k))));
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, M, TILES * K), y = bug_out(SETT_F16, M, TILES * K);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < M * TILES * K; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
