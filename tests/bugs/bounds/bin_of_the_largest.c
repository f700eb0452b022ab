/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a clamp of the bin: the largest number falls into bin 8 of 8
 * fix: sett_min(bin, BINS - 1)
 * Bins of a histogram over -4 to 4 in steps of 1, for nine numbers where the author counted eight. The ninth counts in the first word
 * of the array behind. An H200 loses those counts. */
#include "bug.h"

enum { N = 64, BINS = 8 };

static void histogram(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, BINS));
    sett_block(b, N);
    sett_tensor *H = sett_make_smem_tensor(b, SETT_I32, BINS, 16, .name = "bins"), *behind = sett_make_smem_tensor(b, SETT_I32, BINS, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, BINS)) {
        sett_set(H, 0, t);
        sett_set(behind, 1, t);
    }
    sett_sync_threads(b);
    sett_val *bin = sett_add(sett_at(X, t), 4);
    if (bug_twin)
        bin = sett_min(bin, BINS - 1);
    sett_atomic_add(H, 1, bin); /* @1 atomic */
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, BINS))
        sett_set(Y, sett_mul(sett_at(H, t), sett_at(behind, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, BINS);
    bug_launch(histogram, &x, &y);
    double count[BINS] = {0};
    for (int i = 0; i < N; i++)
        count[(int)fmin(bug_get(&x, i) + 4, BINS - 1)]++;
    for (int i = 0; i < BINS; i++)
        bug_expect(&y, i, count[i]);
    return bug_close();
}
