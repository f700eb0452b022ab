/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the loads of the maxima and the stores of the sums, which share scratch memory
 * fix: sett_sync_threads(b) before the sums are stored
 * public: flashinfer #3607, llama.cpp #26385
 * Softmax's two reductions by one scratch array: first the largest, then the sum of what is less. The second one's stores overwrite
 * maxima that slow warps have yet to load. An H200 gives a wrong row under load. */
#include "bug.h"

enum { N = 128, WARPS = N / 32 };

static void below_max(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, WARPS, 16, .name = "scratch");
    sett_val *t = sett_thread_idx(b, 0), *warp = sett_warp_idx(b), *first = sett_eq(sett_lane_idx(b), 0), *x = sett_at(X, t);
    sett_val *part = sett_warp_reduce(x, SETT_MAX, 32);
    sett_if (b, first)
        sett_set(S, part, warp);
    sett_sync_threads(b);
    sett_val *most = sett_reduce(sett_load(S), SETT_MAX, -1e30); /* @2 read */
    if (bug_twin)
        sett_sync_threads(b);
    sett_val *sum = sett_warp_reduce(sett_sub(most, x), SETT_ADD, 32);
    sett_if (b, first)
        sett_set(S, sum, warp); /* @1 write */
    sett_sync_threads(b);
    sett_set(Y, sett_reduce(sett_load(S), SETT_ADD, 0.0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(below_max, &x, &y);
    double most = -1e30, sum = 0;
    for (int i = 0; i < N; i++)
        most = fmax(most, bug_get(&x, i));
    for (int i = 0; i < N; i++)
        sum += most - bug_get(&x, i);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, sum);
    return bug_close();
}
