/* SPDX-License-Identifier: Apache-2.0 */
#define SETT_SHORT
#include "tests/rig/axpy.h"
#include <check.h>
#include <math.h>
#include <sett/control.h>
#include <sett/layout.h>
#include <sett/tensor.h>
#include <sett/tuple.h>
#include <sett/value.h>

void axpy(sett_build *b, const void *unused)
{
    (void)unused;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_val *a = sett_scalar(b, "a", SETT_F32);
    sett_grid(b, sett_ceil_div(N, 64));
    sett_block(b, 64);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 64), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, N))
        sett_set(Y, sett_fma(a, sett_at(X, i), sett_at(Y, i)), i);
}

void axpy_fill(float *x, float *y, float *was, int size)
{
    for (int i = 0; i < size; i++) {
        x[i] = (float)(i % 97) - 48;
        y[i] = was[i] = (float)(i % 31) * 0.25f;
    }
}

void axpy_expect(const float *x, const float *y, float *was, int size, int n, int steps, float a)
{
    for (int i = 0; i < size; i++) {
        for (int t = 0; t < steps && i < n; t++)
            was[i] = fmaf(a, x[i], was[i]);
        ck_assert_msg(y[i] == was[i], "y[%d] is %g, not %g", i, (double)y[i], (double)was[i]);
    }
}
