/* SPDX-License-Identifier: Apache-2.0 */
/* kind: divergence
 * missing: lanes 16 to 31 at ldmatrix, an instruction of the whole warp
 * fix: ldmatrix outside of the branch
 * Lanes past the last row are left out of the load of a matrix, as if it were a load of each lane. All 32 must execute it. An H200
 * gives registers that nobody set, or stops. */
#include "bug.h"

enum { N = 64 };

static void load(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, 32, 2));
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, N, 16), *r = sett_make_rmem_tensor(b, SETT_F16, 2);
    sett_val *t = sett_thread_idx(b, 0);
    sett_fill(r, 0.0);
    sett_set(S, sett_at(X, t), t);
    sett_set(S, sett_at(X, sett_add(t, 32)), sett_add(t, 32));
    sett_sync_warp(b);
    sett_tensor *rows = sett_local_tile(S, T1(8), T1(sett_and(t, 7)));
    if (bug_twin)
        sett_copy(sett_ldmatrix(b, SETT_F16, 1, false), rows, r);
    sett_if (b, sett_lt(t, 16)) {
        if (!bug_twin)
            sett_copy(sett_ldmatrix(b, SETT_F16, 1, false), rows, r); /* @1 read */
        sett_store(sett_slice(Y, t, ALL), sett_load(r));
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, N), y = bug_out(SETT_F16, 32, 2);
    bug_launch(load, &x, &y);
    for (int i = 0; i < 32; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
