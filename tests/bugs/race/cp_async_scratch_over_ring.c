/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a copy that was sent for one round too many still writes the memory that scratch is laid over
 * fix: sett_cp_async_wait_all in front of the reuse
 * The loop prefetches past the end (tiles are clamped to the last), which harms nobody until the epilogue takes the ring as scratch of
 * its sums. The group that is still pending then lands on the sums. Seen as a rare wrong sum. */
#include "bug.h"

enum { THREADS = 64, TILES = 5 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, THREADS), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(THREADS, 2)), 16, .name = "two");
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    for (int k = 0; k <= TILES; k++) {
        const int tile = k < TILES ? k : TILES - 1;
        sett_cp_async(sett_local_tile(sett_slice(X, tile, ALL), T1(1), T1(t)), sett_local_tile(sett_slice(two, ALL, k % 2), T1(1), T1(t))); /* @1 copy */
        sett_cp_async_commit_group(b);
        if (!k)
            continue;
        sett_cp_async_wait_group(b, 1); /* @wait */
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(two, t, (k - 1) % 2)), 0);
    }
    if (bug_twin)
        sett_cp_async_wait_all(b);
    sett_sync_threads(b);
    sett_tensor *sums = sett_smem_alias(two, SETT_F32, sett_make_layout(b, 2 * THREADS));
    sett_set(sums, sett_at(sum, 0), sett_add(t, TILES % 2 * THREADS)); /* @2 write */
    sett_sync_threads(b);
    sett_set(Y, sett_at(sums, sett_sub((TILES % 2 + 1) * THREADS - 1, t)), 0, t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, THREADS), y = bug_out(SETT_F32, 1, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++) {
        double sum = 0;
        for (int k = 0; k < TILES; k++)
            sum += bug_get(&x, k * THREADS + THREADS - 1 - i);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
