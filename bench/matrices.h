/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel of many parameters is where its memory is measured: bench/cache.c, tests/unit/test_held.c. */
#ifndef BENCH_MATRICES_H
#define BENCH_MATRICES_H
#include <sett/sett.h>

/* As attention is called: six matrices, four of rank 3 with strides of batch and row, two of rank 2 with one of row, over 14 symbols;
 * three numbers. All but the grid, which the caller makes of B, M, N and D. */
static inline void six_matrices(sett_build *b, sett_val *size[4])
{
    static const struct { const char *name, *batch, *row; int extent; } of[] = {{"Q", "qb", "qm", 1}, {"Kt", "kb", "kn", 2}, {"V", "vb", "vn", 2},
        {"O", "ob", "om", 1}, {"bias", NULL, "bias_m", 1}, {"W", NULL, "wn", 2}};
    sett_tensor *t[6];
    size[0] = sett_sym(b, "B"), size[1] = sett_sym(b, "M"), size[2] = sett_sym(b, "N"), size[3] = sett_sym(b, "D", .div = 8);
    for (size_t i = 0; i < 6; i++) {
        sett_val *rows = size[of[i].extent], *row = sett_sym(b, of[i].row, .div = 8);
        t[i] = of[i].batch ? sett_param(b, of[i].name, SETT_F16,
                                 sett_make_layout(b, SETT_T(size[0], rows, size[3]), SETT_T(sett_sym(b, of[i].batch, .div = 8), row, 1)), .align = 16)
                           : sett_param(b, of[i].name, SETT_F16, sett_make_layout(b, SETT_T(rows, size[3]), SETT_T(row, 1)), .align = 16);
    }
    sett_val *scale = sett_scalar(b, "scale", SETT_F32), *cap = sett_scalar(b, "softcap", SETT_F32), *window = sett_scalar(b, "window", SETT_I32);
    sett_block(b, 128);
    sett_val *i = sett_thread_idx(b, 0), *x = sett_mul(sett_to(scale, SETT_F16), sett_to(sett_add(cap, sett_to(window, SETT_F32)), SETT_F16));
    for (size_t j = 0; j < 6; j++)
        if (j != 3)
            x = sett_add(x, of[j].batch ? sett_at(t[j], 0, 0, i) : sett_at(t[j], 0, i));
    sett_set(t[3], x, 0, 0, i);
}

#endif
