/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: atomicity of bits: lanes of several warps set bits of one word by a load and a store
 * fix: sett_atomic_or
 * A mask of 64 numbers in two words, a bit a thread, set by a plain read-modify-write. Bits of others are lost. An H200 gives one bit
 * a word. */
#include "bug.h"

enum { N = 64 };

static void mask(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *W = sett_make_smem_tensor(b, SETT_U32, 2, 16, .name = "words");
    sett_val *t = sett_thread_idx(b, 0), *word = sett_mod(t, 2), *bit = sett_floordiv(t, 2), *one = sett_shl(sett_const(b, SETT_U32, 1), sett_to(bit, SETT_U32));
    sett_if (b, sett_lt(t, 2))
        sett_set(W, 0, t);
    sett_sync_threads(b);
    sett_if (b, sett_gt(sett_at(X, t), 0)) {
        if (bug_twin)
            sett_atomic_or(W, one, word);
        else
            sett_set(W, sett_or(sett_at(W, word), one), word); /* @1 write @2 read */
    }
    sett_sync_threads(b);
    sett_set(Y, sett_to(sett_and(sett_shr(sett_at(W, word), sett_to(bit, SETT_U32)), sett_const(b, SETT_U32, 1)), SETT_I32), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I32, N), y = bug_out(SETT_I32, N);
    bug_launch(mask, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) > 0);
    return bug_close();
}
