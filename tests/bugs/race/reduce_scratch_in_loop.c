/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of one round's partial sums and the stores of the next round's
 * fix: sett_sync_threads(b) at the end of the round
 * public: flashinfer #3624
 * A sum over the block for each of four rows: warps put their sums into scratch memory, a barrier, and each thread adds them up. A
 * warp that is ahead stores its sum of the next row while another still adds up this one. An H200 shows it under load, some rows in a
 * million. */
#include "bug.h"

enum { ROWS = 4, N = 128, WARPS = N / 32 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, ROWS, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, WARPS, 16, .name = "scratch");
    sett_val *t = sett_thread_idx(b, 0), *warp = sett_warp_idx(b);
    sett_for (b, row, 0, ROWS, 1) {
        sett_val *part = sett_warp_reduce(sett_at(X, row, t), SETT_ADD, 32);
        sett_if (b, sett_eq(sett_lane_idx(b), 0))
            sett_set(S, part, warp); /* @1 write */
        sett_sync_threads(b);
        sett_set(Y, sett_reduce(sett_load(S), SETT_ADD, 0.0), row, t); /* @2 read */
        if (bug_twin)
            sett_sync_threads(b);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, ROWS, N), y = bug_out(SETT_F32, ROWS, N);
    bug_launch(sums, &x, &y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += bug_get(&x, r * N + i);
        for (int i = 0; i < N; i++)
            bug_expect(&y, r * N + i, sum);
    }
    return bug_close();
}
