/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence | deadlock | barrier-count
 * missing: the same number of rounds in all warps, since each round has a barrier
 * fix: as many rounds as the longest row has, with a test around the accesses
 * public: llama.cpp #13469
 * Each warp goes over a row of its own length, and the block meets in each round. The warp with the shortest row leaves the loop
 * first. An H200 hangs, or pairs barriers of different rounds. */
#include "bug.h"

enum { WARPS = 2, MOST = 3, N = 32 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, WARPS, MOST, N)), *L = sett_param(b, "L", SETT_I32, sett_row_major(b, WARPS));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, WARPS, N));
    sett_block(b, WARPS * 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, WARPS)), 16), *sum = sett_var(b, SETT_F32, 0.0);
    sett_val *warp = sett_warp_idx(b), *lane = sett_lane_idx(b), *rounds = sett_at(L, warp);
    sett_for (b, k, 0, bug_twin ? sett_const(b, SETT_I32, MOST) : rounds, 1) {
        sett_val *x = sett_load(sett_slice(X, warp, k, lane), .pred = sett_lt(k, rounds));
        sett_set(S, x, lane, warp);
        sett_sync_threads(b); /* @1 barrier */
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(S, sett_sub(N - 1, lane), warp)), 0);
        sett_sync_threads(b); /* @1 barrier */
    }
    sett_set(Y, sett_at(sum, 0), warp, lane);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, WARPS, MOST, N), l = bug_list(SETT_I32, 3, 1), y = bug_out(SETT_F32, WARPS, N);
    bug_launch(sums, &x, &l, &y);
    for (int i = 0; i < WARPS * N; i++) {
        double sum = 0;
        for (int k = 0; k < (i < N ? 3 : 1); k++)
            sum += bug_get(&x, (i / N * MOST + k) * N + N - 1 - i % N);
        bug_expect(&y, i, sum);
    }
    return bug_close();
}
