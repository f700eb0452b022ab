/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: the part of a split that had no keys: its block stored nothing, and the combining kernel reads it
 * fix: the neutral element from splits without keys
 * Attention in splits, in small: each block reduces its part of the keys and stores the result in a workspace; a second kernel
 * combines all parts. A split past the end of a short request stores nothing. An H200 combines what an earlier launch left there. */
#include "bug.h"

enum { SPLITS = 4, EACH = 32, KEYS = 80 };

static void splits(sett_build *b, const void *user)
{
    (void)user;
    sett_val *keys = sett_sym(b, "K");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, keys)), *P = sett_param(b, "P", SETT_F32, sett_row_major(b, SPLITS));
    sett_grid(b, SPLITS);
    sett_block(b, EACH);
    sett_val *split = sett_block_idx(b, 0), *first = sett_mul(split, EACH), *i = sett_add(first, sett_thread_idx(b, 0));
    sett_val *most = sett_warp_reduce(sett_load(sett_slice(X, i), .pred = sett_lt(i, keys), .fill = -1000), SETT_MAX, 32);
    sett_val *leads = sett_eq(sett_thread_idx(b, 0), 0);
    sett_if (b, bug_twin ? leads : sett_and(leads, sett_lt(first, keys)))
        sett_set(P, most, split); /* @write */
}

static void combine(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_F32, sett_row_major(b, SPLITS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 1));
    sett_val *most = sett_reduce(sett_load(P), SETT_MAX, -1000.0); /* @1 read */
    sett_set(Y, most, 0); /* @2 use */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, KEYS), p = bug_out(SETT_F32, SPLITS), y = bug_out(SETT_F32, 1);
    bug_launch(splits, &x, &p);
    bug_launch(combine, &p, &y);
    double most = -1000;
    for (int i = 0; i < KEYS; i++)
        most = fmax(most, bug_get(&x, i));
    bug_expect(&y, 0, most);
    return bug_close();
}
