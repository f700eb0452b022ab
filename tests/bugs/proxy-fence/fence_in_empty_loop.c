/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: the only fence is in a loop over the tokens of a sequence, and this sequence has none
 * fix: sett_fence_view_async_shared(b) behind the loop as well, in front of the barrier
 * public: FlashKDA #24
 * A recurrent state lies in shared memory: it is set to its initial value, each token changes it, and a bulk store writes it at the end.
 * An empty sequence leaves the initial value without a fence between it and the store. Sequences with tokens are right. */
#include "bug.h"

enum { THREADS = 64, SEQUENCES = 3, TOKENS = 2 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, TOKENS, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, SEQUENCES, THREADS), .align = 16);
    sett_grid(b, SEQUENCES), sett_block(b, THREADS);
    sett_tensor *state = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "state");
    sett_val *t = sett_thread_idx(b, 0), *sequence = sett_block_idx(b, 0);
    sett_set(state, 1.0, t); /* @1 write */
    sett_for (b, k, 0, sequence, 1) { /* sequence 0 has no token */
        sett_set(state, sett_add(sett_at(state, t), sett_at(X, k, t)), t);
        sett_fence_view_async_shared(b);
    }
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_bulk_store(state, sett_slice(Y, sequence, ALL)); /* @2 copy */
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TOKENS, THREADS), y = bug_out(SETT_F32, SEQUENCES, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < SEQUENCES * THREADS; i++) {
        double want = 1;
        for (int k = 0; k < i / THREADS; k++)
            want += bug_get(&x, k * THREADS + i % THREADS);
        bug_expect(&y, i, want);
    }
    return bug_close();
}
