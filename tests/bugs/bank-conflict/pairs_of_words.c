/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bank-conflict
 * missing: real and imaginary parts in arrays of their own
 * fix: a plane for each part
 * Complex numbers lie in shared memory as pairs, and each thread loads the real part, then the imaginary one: every second bank, two
 * wavefronts a load. */
#include "bug.h"

enum { N = 64 };

static void norms(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(2, N), bug_twin ? T(N, 1) : T(1, 2)), 16); /* @alloc */
    sett_val *t = sett_thread_idx(b, 0), *other = sett_sub(N - 1, t);
    for (int part = 0; part < 2; part++)
        sett_set(S, sett_at(X, part, t), part, t); /* @1 write */
    sett_sync_threads(b);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    for (int part = 0; part < 2; part++) {
        sett_val *x = sett_at(S, part, other); /* @1 read */
        sett_set(sum, sett_fma(x, x, sett_at(sum, 0)), 0);
    }
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, N);
    bug_launch(norms, &x, &y);
    for (int i = 0; i < N; i++) {
        const double re = bug_get(&x, N - 1 - i), im = bug_get(&x, 2 * N - 1 - i);
        bug_expect(&y, i, re * re + im * im);
    }
    return bug_close();
}
