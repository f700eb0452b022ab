/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a store to the third stage of the ring: there are two tiles, and the loop uses three
 * fix: as many rounds as there are tiles
 * A ring of three stages is filled before the loop, as far as there are tiles. The loop has STAGES rounds whatever K is: with two
 * tiles the third stage was never written. An H200 multiplies old contents, for small K alone. */
#include "bug.h"

enum { STAGES = 3, N = 32 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_val *tiles = sett_sym(b, "T");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, tiles, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16), *sum = sett_var(b, SETT_F32, 0.0); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    for (int k = 0; k < STAGES; k++)
        sett_if (b, sett_lt(k, tiles))
            sett_set(ring, sett_at(X, k, t), t, k);
    sett_sync_threads(b);
    sett_for (b, k, 0, bug_twin ? sett_min(tiles, STAGES) : sett_const(b, SETT_I32, STAGES), 1)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, sett_sub(N - 1, t), k)), 0); /* @1 read */
    sett_set(Y, sett_at(sum, 0), t); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, N);
    bug_launch(sums, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i) + bug_get(&x, 2 * N - 1 - i));
    return bug_close();
}
