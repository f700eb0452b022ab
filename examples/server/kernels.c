/* SPDX-License-Identifier: Apache-2.0 */
#define SETT_SHORT
#include "kernels.h"

/* H = X W + B, or no less than 0: a thread an element, a block a row. */
void dense(sett_build *b, const void *user)
{
    const dense_options *o = user;
    const int n = o->width;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(M, n), T(n, 1)));
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_make_layout(b, T(n, n), T(n, 1)));
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_make_layout(b, T1(n)));
    sett_tensor *H = sett_param(b, "H", SETT_F32, sett_make_layout(b, T(M, n), T(n, 1)));
    sett_grid(b, M);
    sett_block(b, n);
    sett_val *row = sett_block_idx(b, 0), *col = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, sett_at(B, col));
    sett_for (b, k, 0, n, 1)
        sett_set(sum, sett_fma(sett_at(X, row, k), sett_at(W, k, col), sett_at(sum, 0)), 0);
    sett_val *h = sett_at(sum, 0);
    sett_set(H, o->relu ? sett_max(h, 0.0) : h, row, col);
}

/* Y = X + scale Z */
void residual(sett_build *b, const void *user)
{
    const dense_options *o = user;
    const int n = o->width;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(M, n), T(n, 1)));
    sett_tensor *Z = sett_param(b, "Z", SETT_F32, sett_make_layout(b, T(M, n), T(n, 1)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(M, n), T(n, 1)));
    sett_val *scale = sett_scalar(b, "scale", SETT_F32);
    sett_grid(b, M);
    sett_block(b, n);
    sett_val *row = sett_block_idx(b, 0), *col = sett_thread_idx(b, 0);
    sett_set(Y, sett_fma(scale, sett_at(Z, row, col), sett_at(X, row, col)), row, col);
}
