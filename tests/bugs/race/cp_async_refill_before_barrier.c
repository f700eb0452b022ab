/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: other warps may still read the stage that the next copy overwrites
 * fix: sett_sync_threads in front of the copy for round k + STAGES - 1, as well as behind the wait
 * One barrier a round is enough if the next copy is sent behind it. Here it is sent in front of it, into the slot that round k - 1 has
 * read: a fast warp overwrites what a slow one has yet to load. Right numbers on an H200 unless a warp is held up. */
#include "bug.h"

enum { THREADS = 128, TILES = 8, STAGES = 3 };

static void send_for(sett_build *b, sett_tensor *X, sett_tensor *ring, sett_val *t, sett_val *k)
{
    sett_if (b, sett_lt(k, TILES)) {
        sett_tensor *to = sett_local_tile(sett_slice(ring, ALL, sett_mod(k, STAGES)), T1(1), T1(t));
        sett_cp_async(sett_local_tile(sett_slice(X, k, ALL), T1(1), T1(t)), to); /* @2 copy */
    }
    sett_cp_async_commit_group(b);
}

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, THREADS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, STAGES)), 16, .name = "ring");
    sett_val *t = sett_thread_idx(b, 0);
    for (int k = 0; k < STAGES - 1; k++)
        send_for(b, X, ring, t, sett_const(b, SETT_I32, k));
    sett_for (b, k, 0, TILES, 1) {
        if (!bug_twin)
            send_for(b, X, ring, t, sett_add(k, STAGES - 1));
        sett_cp_async_wait_group(b, bug_twin ? STAGES - 2 : STAGES - 1);
        sett_sync_threads(b); /* @barrier */
        if (bug_twin)
            send_for(b, X, ring, t, sett_add(k, STAGES - 1));
        sett_set(Y, sett_at(ring, sett_xor(t, 96), sett_mod(k, STAGES)), k, t); /* @1 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, THREADS), y = bug_out(SETT_F32, TILES, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < TILES * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, i ^ 96));
    return bug_close();
}
