/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: zeros in the second half of the fragment, which stmatrix stores and a bulk store sends off
 * fix: sett_fill(sums, 0)
 * A fragment of 16 rows of which eight were computed goes to shared memory by stmatrix, and out by a bulk store. */
#include "bug.h"

enum { M = 16, N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, N)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_block(b, 32);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, M, N), 1024, .name = "out");
    sett_tma *map = sett_make_tma(Y, .smem = out, .tile = T(M, N));
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F16, .m = 16, .n = 8, .k = 16), T(1, 1, 1), T(ALL, 16, ALL));
    sett_thr_mma *part = sett_get_slice(mma, sett_lane_idx(b));
    sett_tiled_copy *copy = sett_make_tiled_copy_C(sett_stmatrix(b, SETT_F16, 4, false), mma);
    sett_thr_copy *mine = sett_get_slice(copy, sett_lane_idx(b));
    sett_tensor *sums = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(M, N))); /* @alloc */
    if (bug_twin)
        sett_copy(sett_partition_C(part, X), sums);
    else
        sett_if (b, sett_lt(sett_lane_idx(b), 16))
            sett_copy(sett_partition_C(part, X), sums);
    sett_copy(copy, sett_retile(mine, sums), sett_partition_D(mine, out)); /* @1 read */
    sett_fence_view_async_shared(b);
    sett_sync_warp(b);
    sett_tma_store(map, out, sett_local_tile(sett_tma_tensor(map), T(M, N), T(0, 0))); /* @1 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, M, N), y = bug_out(SETT_F16, M, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < M * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
