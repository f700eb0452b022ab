/* SPDX-License-Identifier: Apache-2.0 */
/* Ready kernels, as a server takes them: a layer's residual and RMSNorm, then SiLU of a gate, from libsett-kernels.so. What a
 * kernel is made for stands in its options; the shape is chosen. Link with -lsett-kernels -lsett. */
#include "common.h"
#include <sett/kernels.h>

enum { TOKENS = 16, HIDDEN = 1024, INNER = 2816 };

int main(void)
{
    run r = run_open();
    const sett_dtype t = SETT_BF16;
    matrix X = matrix_random(&r, t, TOKENS, HIDDEN), R = matrix_random(&r, t, TOKENS, HIDDEN), H = matrix_random(&r, t, TOKENS, HIDDEN);
    matrix W = matrix_random(&r, t, 1, HIDDEN), Y = matrix_random(&r, t, TOKENS, HIDDEN);
    matrix U = matrix_random(&r, t, TOKENS, 2 * INNER), V = matrix_random(&r, t, TOKENS, INNER);
    W.buf = sett_buf_1d(W.buf.data, t, HIDDEN), U.buf = sett_buf_nd(U.buf.data, t, 3, (const int64_t[]){TOKENS, 2, INNER});

    const sett_rms_norm_options norm = {.size = sizeof norm, .dtype = t, .cols = HIDDEN, .residual = 1};
    const sett_silu_mul_options gate = {.size = sizeof gate, .dtype = t, .cols = INNER};
    sett_kernel *rms_norm, *silu_mul;
    check(&r, sett_kernels_compile(r.e, sett_rms_norm, &norm, NULL, &rms_norm, &r.err));
    check(&r, sett_kernels_compile(r.e, sett_silu_mul, &gate, NULL, &silu_mul, &r.err));
    check(&r, sett_launch(rms_norm, r.stream, &r.err, &X.buf, &R.buf, &W.buf, &H.buf, &Y.buf, 1e-5));
    check(&r, sett_launch(silu_mul, r.stream, &r.err, &U.buf, &V.buf));

    matrix_fetch(&r, &H), matrix_fetch(&r, &Y), matrix_fetch(&r, &V);
    for (size_t i = 0; i < TOKENS; i++) {
        double squares = 0;
        for (size_t j = 0; j < HIDDEN; j++)
            squares += pow(get(t, H.host, i * HIDDEN + j), 2) / HIDDEN;
        for (size_t j = 0; j < HIDDEN; j++) {
            size_t at = i * HIDDEN + j;
            expect("H", at, get(t, H.host, at), get(t, X.host, at) + get(t, R.host, at), 0.005);
            expect("Y", at, get(t, Y.host, at), get(t, H.host, at) / sqrt(squares + 1e-5) * get(t, W.host, j), 0.005);
        }
        for (size_t j = 0; j < INNER; j++) {
            double g = get(t, U.host, i * 2 * INNER + j);
            expect("V", i * INNER + j, get(t, V.host, i * INNER + j), g / (1 + exp(-g)) * get(t, U.host, (i * 2 + 1) * INNER + j), 0.005);
        }
    }
    printf("library: x + r and RMSNorm of %d, SiLU of %d, ok\n", HIDDEN, INNER);
    matrix *all[] = {&X, &R, &H, &W, &Y, &U, &V};
    for (int i = 0; i < 7; i++)
        matrix_free(&r, all[i]);
    sett_kernel_release(rms_norm), sett_kernel_release(silu_mul);
    run_close(&r);
    return 0;
}
