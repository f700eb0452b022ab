/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: registers for the next stage are filled in front of the wait for that stage
 * fix: sett_cp_async_wait_group and the barrier in front of the ldmatrix of the next stage
 * A main loop of mma.sync loads fragments one step ahead. At the end of a stage that step is in the next one, whose copies are waited for
 * only at the head of the round that follows. On an H200 right whenever copies are a stage ahead. */
#include "bug.h"

enum { M = 16, K = 16, TILES = 6, STAGES = 3 };

static void send_for(sett_build *b, sett_tiled_copy *copy, sett_tensor *X, sett_tensor *ring, sett_val *k)
{
    sett_thr_copy *mine = sett_get_slice(copy, sett_thread_idx(b, 0));
    sett_if (b, sett_lt(k, TILES))
        sett_copy(copy, sett_partition_S(mine, sett_local_tile(X, T(M, K), T(0, k))), sett_partition_D(mine, sett_slice(ring, ALL, ALL, sett_mod(k, STAGES)))); /* @1 copy */
    sett_cp_async_commit_group(b);
}

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, TILES * K), .align = 16), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, M, TILES * K), .align = 4);
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, M, K, STAGES), 1024, .name = "ring");
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F16, 128), sett_make_layout(b, T(16, 2), T(2, 1)), sett_make_layout(b, T(1, 8)));
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8, .k = 16), T(1, 1, 1), ALL);
    sett_thr_mma *part = sett_get_slice(mma, sett_lane_idx(b));
    sett_tiled_copy *read = sett_make_tiled_copy_A(sett_ldmatrix(b, SETT_F16, 4, false), mma);
    sett_thr_copy *mine = sett_get_slice(read, sett_lane_idx(b));
    for (int k = 0; k < STAGES - 1; k++)
        send_for(b, copy, X, ring, sett_const(b, SETT_I32, k));
    sett_tensor *frag = sett_make_fragment_A(mma, sett_partition_A(part, sett_slice(ring, ALL, ALL, 0)));
    sett_cp_async_wait_group(b, STAGES - 2);
    sett_sync_warp(b);
    sett_copy(read, sett_partition_S(mine, sett_slice(ring, ALL, ALL, 0)), sett_retile(mine, frag));
    sett_for (b, k, 0, TILES, 1) {
        sett_copy(frag, sett_partition_A(part, sett_local_tile(Y, T(M, K), T(0, k)))); /* uses tile k */
        sett_sync_warp(b);
        send_for(b, copy, X, ring, sett_add(k, STAGES - 1));
        if (bug_twin) {
            sett_cp_async_wait_group(b, STAGES - 2);
            sett_sync_warp(b);
        }
        sett_copy(read, sett_partition_S(mine, sett_slice(ring, ALL, ALL, sett_mod(sett_add(k, 1), STAGES))), sett_retile(mine, frag)); /* @2 read */
        if (!bug_twin) {
            sett_cp_async_wait_group(b, STAGES - 2); /* @wait */
            sett_sync_warp(b);
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
