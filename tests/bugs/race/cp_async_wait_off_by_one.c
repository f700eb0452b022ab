/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the group of tile k is still pending when tile k is read
 * fix: sett_cp_async_wait_group(b, STAGES - 2)
 * A ring of cp.async stages with one group a tile. STAGES - 1 groups are sent before the loop, so at most STAGES - 2 may be pending when a
 * tile is read; the loop waits for one less. An H200 gives right numbers as long as copies are faster than a round. */
#include "bug.h"

enum { THREADS = 64, TILE = 4 * THREADS, TILES = 8, STAGES = 3 };

static void send_for(sett_build *b, sett_tensor *X, sett_tensor *ring, sett_val *t, sett_val *k)
{
    sett_if (b, sett_lt(k, TILES)) {
        sett_tensor *to = sett_local_tile(sett_slice(ring, ALL, sett_mod(k, STAGES)), T1(4), T1(t));
        sett_cp_async(sett_local_tile(sett_slice(X, k, ALL), T1(4), T1(t)), to); /* @1 copy */
    }
    sett_cp_async_commit_group(b);
}

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, TILE), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, STAGES)), 16, .name = "ring");
    sett_val *t = sett_thread_idx(b, 0);
    for (int k = 0; k < STAGES - 1; k++)
        send_for(b, X, ring, t, sett_const(b, SETT_I32, k));
    sett_for (b, k, 0, TILES, 1) {
        sett_cp_async_wait_group(b, bug_twin ? STAGES - 2 : STAGES - 1); /* @wait */
        sett_sync_threads(b);
        send_for(b, X, ring, t, sett_add(k, STAGES - 1));
        sett_set(Y, sett_at(ring, sett_sub(TILE - 1, sett_mul(t, 4)), sett_mod(k, STAGES)), k, t); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, TILE), y = bug_out(SETT_F32, TILES, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i / THREADS * TILE + TILE - 1 - i % THREADS * 4));
    return bug_close();
}
