/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: the second half of a table of 64 scales, which a warp of 32 threads loads
 * fix: each lane loads two scales
 * A table of 64 scales goes to shared memory by the first warp: it had 32 columns once. An H200 scales the other columns by old
 * contents. */
#include "bug.h"

enum { N = 64 };

static void scale(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *F = sett_param(b, "F", SETT_F32, sett_row_major(b, N));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "scales"); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_for (b, i, sett_lane_idx(b), bug_twin ? N : 32, 32)
            sett_set(S, sett_at(F, i), i); /* @write */
    sett_sync_threads(b);
    sett_set(Y, sett_mul(sett_at(X, t), sett_at(S, t)), t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), f = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(scale, &x, &f, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i) * bug_get(&f, i));
    return bug_close();
}
