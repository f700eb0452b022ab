/* SPDX-License-Identifier: Apache-2.0 */
/* kind: order
 * missing: release of the arrivals: the consumer waits for all of them, and is promised nothing of what they stored
 * fix: sett_mbarrier_arrive without .relaxed
 * Sixty-four threads store a tile and arrive; another warp waits and reads. The arrivals are relaxed, as those of consumers that only
 * read. An H200 gives right numbers: its shared memory keeps the order. */
#include "bug.h"

enum { N = 64 };

static void tile(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N + 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16), *bars = sett_make_mbarriers(b, 1), *full = sett_slice(bars, 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(full, N);
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, N)) {
        sett_set(S, sett_at(X, t), t); /* @1 write */
        sett_mbarrier_arrive(full, .relaxed = !bug_twin); /* @arrive */
    }
    sett_else (b) {
        sett_mbarrier_wait(full, 0); /* @wait */
        sett_for (b, i, sett_sub(t, N), N, 32)
            sett_set(Y, sett_at(S, sett_sub(N - 1, i)), i); /* @2 read */
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(tile, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, N - 1 - i));
    return bug_close();
}
