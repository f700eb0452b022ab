/* SPDX-License-Identifier: Apache-2.0 */
/* O = softmax(Q K^T / sqrt(d)) V on Hopper, forward, for each of G = batch times heads: sett_attention of libsett-kernels, whose body,
 * kernels/attention.c, is one loop of two products and a softmax (docs/gemm.md has what it is made of). Checked here against plain C. */
#define SETT_SHORT
#include "common.h"
#include <sett/kernels.h>

enum { D = 128 };

static void try(run *r, sett_kernel *k, int64_t g, int64_t m, int64_t n)
{
    matrix Q = matrix_random(r, SETT_BF16, g * m, D), K = matrix_random(r, SETT_BF16, g * n, D), V = matrix_random(r, SETT_BF16, g * n, D), O = matrix_random(r, SETT_BF16, g * m, D);
    const int64_t rows[2][3] = {{g, m, D}, {g, n, D}};
    sett_buf q = sett_buf_nd(Q.buf.data, SETT_BF16, 3, rows[0]), kk = sett_buf_nd(K.buf.data, SETT_BF16, 3, rows[1]), v = sett_buf_nd(V.buf.data, SETT_BF16, 3, rows[1]), o = sett_buf_nd(O.buf.data, SETT_BF16, 3, rows[0]);
    check(r, sett_launch(k, r->stream, &r->err, &q, &kk, &v, &o));
    matrix_fetch(r, &O);
    double *w = malloc((size_t)n * sizeof *w);
    for (int64_t row = 0; w && row < g * m; row++) {
        double sum = 0, most = -INFINITY;
        for (int64_t j = 0; j < n; j++) {
            w[j] = 0;
            for (int64_t x = 0; x < D; x++)
                w[j] += get(SETT_BF16, Q.host, (size_t)(row * D + x)) * get(SETT_BF16, K.host, (size_t)((row / m * n + j) * D + x));
            most = fmax(most, w[j] /= sqrt(D));
        }
        for (int64_t j = 0; j < n; j++)
            sum += w[j] = exp(w[j] - most);
        for (int64_t x = 0; x < D; x++) {
            double want = 0;
            for (int64_t j = 0; j < n; j++)
                want += w[j] / sum * get(SETT_BF16, V.host, (size_t)((row / m * n + j) * D + x));
            expect("attention", (size_t)(row * D + x), get(SETT_BF16, O.host, (size_t)(row * D + x)), want, 1.0 / 128);
        }
    }
    free(w);
    printf("attention: %d heads, %d queries, %d keys, ok\n", (int)g, (int)m, (int)n);
    matrix_free(r, &Q), matrix_free(r, &K), matrix_free(r, &V), matrix_free(r, &O);
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    const sett_attention_options o = {.size = sizeof o, .dtype = SETT_BF16, .d = D};
    sett_status s = sett_kernels_compile(r.e, sett_attention, &o, NULL, &k, &r.err);
    if (s == SETT_E_TARGET) { /* no wgmma */
        printf("attention: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, s);
    try(&r, k, 1, 128, 128);
    try(&r, k, 2, 256, 384);
    try(&r, k, 3, 77, 301);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
