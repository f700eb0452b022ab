/* SPDX-License-Identifier: Apache-2.0 */
/* kind: tensormap
 * missing: the acquire of the map that is used: there are two, and the first was acquired twice
 * fix: sett_fence_tma_desc_acquire(out) as well
 * A kernel makes a map for its input and one for its output. A line was copied, and both acquires name the input's. */
#include "bug.h"

enum { ROWS = 4, N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * ROWS, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2 * ROWS, N), .align = 16);
    sett_tensor *maps = sett_param(b, "maps", SETT_U64, sett_row_major(b, 2, 16), .align = 64), *in = sett_slice(maps, 0, ALL), *out = sett_slice(maps, 1, ALL);
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, ROWS, N), 128, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_tma *from = sett_make_tma(X, .smem = s, .tile = T(ROWS, N)), *to = sett_make_tma(Y, .smem = s, .tile = T(ROWS, N));
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_copy_tensormap(from, in);
    sett_update_tma_descriptor(from, in, .address = sett_address(X, ROWS, 0));
    sett_copy_tensormap(to, out); /* @1 write */
    sett_update_tma_descriptor(to, out, .address = sett_address(Y, ROWS, 0)); /* @1 write */
    sett_fence_tma_desc_release(b);
    sett_fence_tma_desc_acquire(in);
    sett_fence_tma_desc_acquire(bug_twin ? out : in); /* @fence */
    sett_mbarrier_arrive_and_expect_tx(full, sett_tma_bytes(from), .pred = sett_elect_one(b));
    sett_tma_load(from, sett_local_tile(sett_tma_tensor(from), T(ROWS, N), T(0, 0)), s, full, .map = in);
    sett_mbarrier_wait(full, 0);
    sett_tma_store(to, s, sett_local_tile(sett_tma_tensor(to), T(ROWS, N), T(0, 0)), .map = out); /* @2 copy */
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2 * ROWS, N), y = bug_full(0, SETT_F32, 2 * ROWS, N), maps = bug_full(0, SETT_U64, 2, 16);
    bug_launch(kernel, &x, &y, &maps);
    for (int i = ROWS * N; i < 2 * ROWS * N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
