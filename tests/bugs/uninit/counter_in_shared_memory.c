/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a zero in the counter before the first addition
 * fix: one thread stores 0, and the block meets
 * Threads take places in a list by a counter in shared memory, which nobody has set to 0. An H200 has zeros there in the first kernel
 * of a process, and places past the end of the list later. */
#include "bug.h"

enum { N = 64 };

static void compact(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, 2));
    sett_block(b, N);
    sett_tensor *C = sett_make_smem_tensor(b, SETT_I32, 1, 16, .name = "count"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    if (bug_twin)
        sett_if (b, sett_eq(t, 0))
            sett_set(C, 0, 0);
    sett_sync_threads(b);
    sett_if (b, sett_gt(sett_at(X, t), 0))
        sett_atomic_add(C, 1, 0); /* @1 atomic */
    sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_at(C, 0), 0); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, 2);
    bug_launch(compact, &x, &y);
    int positive = 0;
    for (int i = 0; i < N; i++)
        positive += bug_get(&x, i) > 0;
    bug_expect(&y, 0, positive);
    return bug_close();
}
