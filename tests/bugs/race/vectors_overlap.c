/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: steps of the vector's width: threads are 3 elements apart and store 4
 * fix: sett_mul(t, 4)
 * Each thread stores four numbers, at three times its index: the last of one thread is the first of the next. Rows of three became
 * rows of four in one place alone. An H200 gives either number. */
#include "bug.h"

enum { THREADS = 16, N = 4 * THREADS };

static void store(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS, 4)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0);
    for (int i = 0; i < 4; i++)
        sett_set(Y, sett_at(X, t, i), sett_add(sett_mul(t, bug_twin ? 4 : 3), i)); /* @1 write */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS, 4), y = bug_full(100, SETT_F32, N);
    bug_launch(store, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
