/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: a loop around try_wait, which gives up after a while
 * fix: sett_mbarrier_wait, or sett_while (b, sett_not(sett_mbarrier_try_wait(...)))
 * mbarrier.try_wait suspends the thread, "so behind it the bytes are there". It is for a time that the machine chooses, and the answer says
 * which of the two it was. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N)), *Z = sett_param(b, "Z", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *full = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(full, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    sett_mbarrier_arrive_and_expect_tx(full, N * 4, .pred = sett_elect_one(b));
    sett_bulk_load(X, s, full); /* @1 copy */
    if (bug_twin)
        sett_while (b, sett_not(sett_mbarrier_try_wait(full, 0))) {}
    else
        sett_set(Z, sett_to(sett_mbarrier_try_wait(full, 0), SETT_I32), t); /* @wait */
    sett_set(Y, sett_at(s, t), t); /* @2 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N), z = bug_full(0, SETT_I32, N);
    bug_launch(kernel, &x, &y, &z);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
