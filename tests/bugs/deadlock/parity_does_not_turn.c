/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock | race | barrier-count
 * missing: the waiter's parity is 0 in every round
 * fix: turn it: sett_set(parity, sett_xor(sett_at(parity, 0), 1), 0)
 * Two warps hand a number to and fro. The parity is kept in a register, and one of the two forgets to turn it: it goes on in the second
 * round at once, and waits for ever in the third. */
#include "bug.h"

enum { N = 32, ROUNDS = 4 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, 2 * N);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "s"), *bars = sett_make_mbarriers(b, 2), *to = sett_slice(bars, 0), *fro = sett_slice(bars, 1);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        for (int i = 0; i < 2; i++)
            sett_mbarrier_init(sett_slice(bars, i), N);
    sett_sync_threads(b);
    sett_tensor *parity = sett_var(b, SETT_I32, 0);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_set(s, sett_at(X, lane), lane); /* @2 write */
        sett_for (b, k, 0, ROUNDS, 1) {
            sett_mbarrier_arrive(to);
            sett_mbarrier_wait(fro, sett_mod(k, 2)); /* @1 wait */
            sett_set(s, sett_add(sett_at(s, lane), 1), lane); /* @2 write */
        }
        sett_set(Y, sett_at(s, lane), lane);
    }
    sett_else (b) {
        sett_for (b, k, 0, ROUNDS, 1) {
            sett_mbarrier_wait(to, sett_at(parity, 0)); /* @1 wait */
            sett_set(s, sett_mul(sett_at(s, lane), 2), lane); /* @1 write */
            sett_mbarrier_arrive(fro); /* @2 arrive */
            if (bug_twin)
                sett_set(parity, sett_xor(sett_at(parity, 0), 1), 0);
        }
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++) {
        double want = bug_get(&x, i);
        for (int k = 0; k < ROUNDS; k++)
            want = 2 * want + 1;
        bug_expect(&y, i, want);
    }
    return bug_close();
}
