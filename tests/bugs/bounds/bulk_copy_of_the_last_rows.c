/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: the length of the last copy: it takes a whole tile, of which the vector has half
 * fix: .bytes = what is left
 * A vector of 96 numbers goes by bulk copies of 64. Copies in bulk test no bounds: the second one reads 128 bytes past the end. An
 * H200 reads them, or faults at the end of a page. */
#include "bug.h"

enum { N = 96, TILE = 64 };

static void copy(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 128), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2);
    sett_block(b, TILE);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, TILE, 128), *bars = sett_make_mbarriers(b, 1), *bar = sett_slice(bars, 0);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_mul(sett_block_idx(b, 0), TILE);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(bar, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_val *bytes = sett_mul(bug_twin ? sett_min(sett_sub(N, first), TILE) : sett_const(b, SETT_I32, TILE), 4);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_mbarrier_arrive_and_expect_tx(bar, bytes, .pred = sett_eq(t, 0));
        sett_bulk_load(sett_local_tile(X, T1(TILE), T1(sett_block_idx(b, 0))), S, bar, .bytes = sett_assume(bytes, 16)); /* @1 copy */
    }
    sett_mbarrier_wait(bar, 0);
    sett_if (b, sett_lt(sett_add(first, t), N))
        sett_set(Y, sett_at(S, t), sett_add(first, t));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(copy, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
