/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: V is read behind the wait for K's mbarrier, and nobody has waited for V's
 * fix: sett_mbarrier_wait(sett_slice(bar, 1), 0) in front of the use of V
 * Two tiles come to two mbarriers, as K and V of attention do. The second wait names the first one again: it ends at once, and what it
 * guards is read while it comes. Both copies take about as long on an H200, so the numbers are mostly right. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 1), sett_block(b, N);
    sett_tensor *K = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "K"), *V = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "V"), *bar = sett_make_mbarriers(b, 2);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < 2; i++)
            sett_mbarrier_init(sett_slice(bar, i), 1);
        sett_fence_mbarrier_init(b);
        for (int i = 0; i < 2; i++)
            sett_mbarrier_arrive_and_expect_tx(sett_slice(bar, i), N * 4);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_load(sett_slice(X, 0, ALL), K, sett_slice(bar, 0));
        sett_bulk_load(sett_slice(X, 1, ALL), V, sett_slice(bar, 1)); /* @1 copy */
    }
    sett_mbarrier_wait(sett_slice(bar, 0), 0);
    sett_set(Y, sett_mul(sett_at(K, t), 2), 0, t);
    sett_mbarrier_wait(sett_slice(bar, bug_twin ? 1 : 0), 0); /* @wait */
    sett_set(Y, sett_add(sett_at(V, t), sett_at(K, t)), 1, t); /* @2 read */
    sett_mbarrier_wait(sett_slice(bar, 1), 0);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        bug_expect(&y, i, 2 * bug_get(&x, i));
        bug_expect(&y, N + i, bug_get(&x, N + i) + bug_get(&x, i));
    }
    return bug_close();
}
