/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: the wrap of the ring's index: it goes from 0 to STAGES, which is one stage too many
 * fix: STAGES - 1 in the comparison that wraps
 * A ring of three stages in shared memory. The index wraps when it has become larger than 3, so that each fourth tile goes to a stage
 * behind the ring, over the scales. An H200 spoils the scales, and gives wrong numbers from there on. */
#include "bug.h"

enum { STAGES = 3, N = 32, TILES = 5 };

static void scaled(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TILES, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, TILES, N));
    sett_block(b, N);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, STAGES)), 16), *F = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *stage = sett_var(b, SETT_I32, 0);
    sett_set(F, 2, t);
    sett_for (b, k, 0, TILES, 1) {
        sett_set(ring, sett_at(X, k, t), t, sett_at(stage, 0)); /* @1 write */
        sett_sync_threads(b);
        sett_set(Y, sett_mul(sett_at(ring, sett_sub(N - 1, t), sett_at(stage, 0)), sett_at(F, t)), k, t); /* @read */
        sett_set(stage, sett_where(sett_lt(sett_at(stage, 0), bug_twin ? STAGES - 1 : STAGES), sett_add(sett_at(stage, 0), 1), 0), 0);
        sett_sync_threads(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(scaled, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
