/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: the upper lanes at stmatrix, which is .aligned
 * fix: stmatrix by all lanes; what lies past the end is not read
 * Eight rows of a fragment are valid, and the lanes of the others skip the store. */
#include "bug.h"

enum { M = 16, N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, N)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, M, N));
    sett_block(b, 32);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, M, N), 1024, .name = "out");
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F16, .m = 16, .n = 8, .k = 16), T(1, 1, 1), T(ALL, 16, ALL));
    sett_thr_mma *part = sett_get_slice(mma, sett_lane_idx(b));
    sett_tiled_copy *copy = sett_make_tiled_copy_C(sett_stmatrix(b, SETT_F16, 4, false), mma);
    sett_thr_copy *mine = sett_get_slice(copy, sett_lane_idx(b));
    sett_tensor *sums = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(M, N)));
    sett_val *lane = sett_lane_idx(b);
    sett_copy(sett_partition_C(part, X), sums);
    sett_if (b, sett_lt(lane, bug_twin ? 32 : 16)) /* @2 use */
        sett_copy(copy, sett_retile(mine, sums), sett_partition_D(mine, out)); /* @1 write */
    sett_sync_warp(b);
    sett_for (b, i, 0, M, 1)
        for (int k = 0; k < 2; k++)
            sett_set(Y, sett_at(out, i, sett_add(lane, 32 * k)), i, sett_add(lane, 32 * k));
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
