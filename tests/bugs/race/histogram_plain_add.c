/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: atomicity: threads load, add and store a counter that others count in
 * fix: sett_atomic_add in place of the load, the addition and the store
 * A histogram in shared memory by plain loads and stores. Threads with one bin lose counts of each other, also lanes of one warp. An
 * H200 counts too little, always. */
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
        sett_set(H, 0, t);
    sett_sync_threads(b);
    sett_val *bin = sett_add(sett_at(X, t), 4);
    if (bug_twin)
        sett_atomic_add(H, 1, bin);
    else
        sett_set(H, sett_add(sett_at(H, bin), 1), bin); /* @1 write @2 read */
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
