/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: room: the launch asks for shared memory of as many numbers as the row had once
 * fix: the row's length, N, as the symbol's value
 * The caller chooses the size of the dynamic shared memory, as a symbol of the launch, and the kernel stores a row there. The row has
 * grown. An H200 faults, or overwrites what lies behind. */
#include "bug.h"

enum { N = 96, ROOM = 64 };

static void reverse(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N"), *room = sett_sym(b, "room");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, n)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, n));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, room, 16); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t); /* @1 write */
    sett_sync_threads(b);
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), t); /* @read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(reverse, &x, &y, N, bug_twin ? N : ROOM); /* the symbols, in their order */
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
