/* SPDX-License-Identifier: Apache-2.0 */
/* kind: sectors
 * missing: neighbouring threads at neighbouring elements: each thread has a chunk of eight, and loads it one by one
 * fix: steps of the block: element t + i * THREADS
 * Work is shared as on a CPU, a chunk of consecutive elements a thread. A warp's load touches 32 sectors for 128 bytes. */
#include "bug.h"

enum { THREADS = 32, EACH = 8, N = THREADS * EACH };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, n)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_for (b, i, 0, EACH, 1)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(X, bug_twin ? sett_add(t, sett_mul(i, THREADS)) : sett_add(sett_mul(t, EACH), i))), 0); /* @1 read */
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, THREADS);
    bug_launch(sums, &x, &y);
    for (int t = 0; t < THREADS; t++) {
        double sum = 0;
        for (int i = 0; i < EACH; i++)
            sum += bug_get(&x, bug_twin ? t + i * THREADS : t * EACH + i);
        bug_expect(&y, t, sum);
    }
    return bug_close();
}
