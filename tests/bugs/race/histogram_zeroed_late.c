/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a barrier between the stores of zero and the first additions
 * fix: sett_sync_threads(b) behind the zeros
 * public: popsift #82
 * The first warp zeroes the bins while the others count already: what they counted is lost. An H200 loses counts of warps that start
 * early. */
#include "bug.h"

enum { N = 256, BINS = 16 };

static void histogram(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, BINS));
    sett_block(b, N);
    sett_tensor *H = sett_make_smem_tensor(b, SETT_I32, BINS, 16, .name = "bins");
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, BINS))
        sett_set(H, 0, t); /* @1 write */
    if (bug_twin)
        sett_sync_threads(b);
    sett_atomic_add(H, 1, sett_add(sett_at(X, t), 4)); /* @2 atomic */
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, BINS))
        sett_set(Y, sett_at(H, t), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, BINS);
    bug_launch(histogram, &x, &y);
    double count[BINS] = {0};
    for (int i = 0; i < N; i++)
        count[(int)bug_get(&x, i) + 4]++;
    for (int i = 0; i < BINS; i++)
        bug_expect(&y, i, count[i]);
    return bug_close();
}
