/* SPDX-License-Identifier: Apache-2.0 */
/* kind: init
 * missing: an election is for one lane of each warp: four threads make the mbarrier
 * fix: sett_if (b, sett_eq(sett_warp_idx(b), 0)) around the election
 * sett_elect_one is taken for "one thread of the block". A slow warp makes the mbarrier again when others have arrived, and their arrivals
 * are lost. An H200 hangs in one of many launches. */
#include "bug.h"

enum { THREADS = 128 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, THREADS));
    sett_grid(b, 1), sett_block(b, THREADS);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "s"), *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, bug_twin ? sett_eq(sett_warp_idx(b), 0) : sett_ge(sett_warp_idx(b), 0))
        sett_if (b, sett_elect_one(b))
            sett_mbarrier_init(bar, THREADS); /* @1 init */
    sett_sync_threads(b);
    sett_set(s, sett_at(X, t), t);
    sett_mbarrier_arrive(bar);
    sett_mbarrier_wait(bar, 0);
    sett_set(Y, sett_at(s, sett_sub(THREADS - 1, t)), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, THREADS), y = bug_out(SETT_F32, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(&y, i, bug_get(&x, THREADS - 1 - i));
    return bug_close();
}
