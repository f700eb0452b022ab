/* SPDX-License-Identifier: Apache-2.0 */
/* kind: lifetime
 * missing: nobody waits until the last bulk store has read shared memory
 * fix: sett_tma_store_wait_read(b, 0) in the warp that stored, before it ends
 * The wait stands in the loop, in front of the next round's writes, and not behind the loop. The block may end, and the next one write the
 * same shared memory, while the last store reads it. */
#include "bug.h"

enum { N = 64, ROUNDS = 3 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROUNDS, N), .align = 16);
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 1, N), 128, .name = "s");
    sett_tma *map = sett_make_tma(Y, .smem = s, .tile = T(1, N));
    sett_tensor *to = sett_local_tile(sett_tma_tensor(map), T(1, N), T(ALL, 0));
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(sett_warp_idx(b), 0);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_if (b, first)
            sett_tma_store_wait_read(b, 0); /* @wait */
        sett_sync_threads(b);
        sett_set(s, sett_mul(sett_at(X, k, t), 2), 0, t);
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, first) {
            sett_tma_store(map, s, sett_slice(to, ALL, ALL, k)); /* @1 copy */
            sett_tma_store_commit(b);
        }
    }
    if (bug_twin)
        sett_if (b, first)
            sett_tma_store_wait_read(b, 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROUNDS, N), y = bug_out(SETT_F32, ROUNDS, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < ROUNDS * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i));
    return bug_close();
}
