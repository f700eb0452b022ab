/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of the lanes' stores and the loads of other lanes of the warp
 * fix: sett_sync_warp(b) between them
 * Each warp sorts its 32 numbers by a table in shared memory of its own, "so that no barrier is needed". Lanes of one warp are threads
 * too: since Volta one may load before the other has stored. An H200 gives right numbers until the compiler splits the code. */
#include "bug.h"

enum { N = 128 };

static void permute(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *P = sett_param(b, "P", SETT_I32, sett_row_major(b, 32));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(32, N / 32)), 16);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_val *to = sett_and(sett_add(sett_mul(lane, 7), sett_at(P, lane)), 31);
    sett_set(S, sett_at(X, t), to, warp); /* @1 write */
    if (bug_twin)
        sett_sync_warp(b);
    sett_set(Y, sett_at(S, lane, warp), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), p = bug_full(3, SETT_I32, 32), y = bug_out(SETT_F32, N);
    bug_launch(permute, &x, &p, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i / 32 * 32 + (i % 32 * 7 + 3) % 32, bug_get(&x, i));
    return bug_close();
}
