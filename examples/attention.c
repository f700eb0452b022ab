/* SPDX-License-Identifier: Apache-2.0 */
/* O = softmax(Q K^T / sqrt(d)) V on Hopper, forward, for each head: sett_attention of libsett-kernels, whose main loop, in kernels/attention_loop.c, is
 * one loop of two products and a softmax (docs/gemm.md has what it is made of). Checked here against plain C. The tensors are as most
 * models have them, (batch, rows, heads, d), and the kernel is given their views (batch, heads, rows, d). */
#define SETT_SHORT
#include "common.h"
#include <sett/kernels.h>

enum { D = 128 };
typedef struct shape { int64_t batch, heads, shared, m, n; } shape; /* shared: heads of K and V, each of several heads of Q */

static sett_buf view(const matrix *x, int64_t batch, int64_t rows, int64_t heads)
{
    const int64_t extents[] = {batch, heads, rows, D};
    sett_buf v = sett_buf_nd(x->buf.data, SETT_BF16, 4, extents);
    v.stride[0] = rows * heads * D, v.stride[1] = D, v.stride[2] = heads * D;
    return v;
}

/* One row of O, whose elements lie at `at`. */
static void check_row(const shape *s, const matrix x[4], int64_t batch, int64_t row, int64_t head, double *w)
{
    const size_t at = (size_t)(((batch * s->m + row) * s->heads + head) * D), first = (size_t)((batch * s->n * s->shared + head / (s->heads / s->shared)) * D), next = (size_t)(s->shared * D);
    double sum = 0, most = -INFINITY;
    for (size_t j = 0; j < (size_t)s->n; j++) {
        w[j] = 0;
        for (size_t i = 0; i < D; i++)
            w[j] += get(SETT_BF16, x[0].host, at + i) * get(SETT_BF16, x[1].host, first + j * next + i);
        most = fmax(most, w[j] /= sqrt(D));
    }
    for (int64_t j = 0; j < s->n; j++)
        sum += w[j] = exp(w[j] - most);
    for (size_t i = 0; i < D; i++) {
        double want = 0;
        for (size_t j = 0; j < (size_t)s->n; j++)
            want += w[j] / sum * get(SETT_BF16, x[2].host, first + j * next + i);
        expect("attention", at + i, get(SETT_BF16, x[3].host, at + i), want, 1.0 / 128);
    }
}

static void try(run *r, sett_kernel *k, shape s)
{
    const int64_t q = s.batch * s.m * s.heads, kv = s.batch * s.n * s.shared;
    matrix x[4] = {matrix_random(r, SETT_BF16, q, D), matrix_random(r, SETT_BF16, kv, D), matrix_random(r, SETT_BF16, kv, D), matrix_random(r, SETT_BF16, q, D)};
    sett_buf Q = view(&x[0], s.batch, s.m, s.heads), K = view(&x[1], s.batch, s.n, s.shared), V = view(&x[2], s.batch, s.n, s.shared), O = view(&x[3], s.batch, s.m, s.heads);
    check(r, sett_launch(k, r->stream, &r->err, &Q, &K, &V, &O));
    matrix_fetch(r, &x[3]);
    double *w = malloc((size_t)s.n * sizeof *w);
    for (int64_t i = 0; w && i < q; i++)
        check_row(&s, x, i / (s.m * s.heads), i / s.heads % s.m, i % s.heads, w);
    free(w);
    printf("attention: %d x %d heads on %d, %d queries, %d keys, ok\n", (int)s.batch, (int)s.heads, (int)s.shared, (int)s.m, (int)s.n);
    for (int i = 0; i < 4; i++)
        matrix_free(r, &x[i]);
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
    try(&r, k, (shape){.batch = 1, .heads = 1, .shared = 1, .m = 128, .n = 128});
    try(&r, k, (shape){.batch = 1, .heads = 4, .shared = 2, .m = 256, .n = 384}); /* grouped queries */
    try(&r, k, (shape){.batch = 3, .heads = 1, .shared = 1, .m = 77, .n = 301});
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
