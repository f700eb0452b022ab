/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: the second of two 16-bit numbers that are loaded as one word
 * fix: stores to both halves
 * Scales of 16 bits are stored for even columns alone, and loaded in pairs as words. The upper half of each word was never written. An
 * H200 gives old contents for odd columns. */
#include "bug.h"

enum { N = 64 };

static void pairs(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I16, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N / 2));
    sett_block(b, N / 2);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I16, N, 16); /* @alloc */
    sett_tensor *words = sett_smem_alias(S, SETT_I32, N / 2);
    sett_val *t = sett_thread_idx(b, 0), *even = sett_mul(t, 2);
    sett_set(S, sett_at(X, even), even); /* @write */
    if (bug_twin)
        sett_set(S, sett_at(X, sett_add(even, 1)), sett_add(even, 1));
    sett_sync_threads(b);
    sett_set(Y, sett_at(words, t), t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_I16, N), y = bug_out(SETT_I32, N / 2);
    bug_launch(pairs, &x, &y);
    for (int i = 0; i < N / 2; i++)
        bug_expect(&y, i, (int16_t)bug_get(&x, 2 * i + 1) * 65536 + (uint16_t)(int16_t)bug_get(&x, 2 * i));
    return bug_close();
}
