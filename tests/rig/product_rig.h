/* SPDX-License-Identifier: Apache-2.0 */
/* For suites of matrix products: a product of small integers with what its options add, against plain C. */
#ifndef PRODUCT_RIG_H
#define PRODUCT_RIG_H
#include "tests/rig/kernels_rig.h"

/* Factors -2 to 2 as each type has them, so that sums are exact. */
typedef struct product { sett_dtype ab, c; int scaled, bn, swiglu, residual, bm, ping_pong; } product;

static inline uint32_t factor_bits(sett_dtype t, int x)
{
    static const uint32_t f32[] = {0xc0000000, 0xbf800000, 0, 0x3f800000, 0x40000000};
    static const uint16_t f16[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}, bf16[] = {0xc000, 0xbf80, 0, 0x3f80, 0x4000}, e4m3[] = {0xc0, 0xb8, 0, 0x38, 0x40},
                          e5m2[] = {0xc0, 0xbc, 0, 0x3c, 0x40};
    return t == SETT_F16 ? f16[x + 2] : t == SETT_BF16 ? bf16[x + 2] : t == SETT_F8E4M3FN ? e4m3[x + 2] : t == SETT_F8E5M2 ? e5m2[x + 2] : t == SETT_F32 ? f32[x + 2] : (uint8_t)x;
}

static inline int factor_at(size_t row, size_t k, int seed)
{
    return (int)((row * 7 + k * 3 + row * k + (size_t)seed) % 5) - 2;
}

/* Rows of so many elements and, behind each, of what nobody reads: NaN, of i8 -1. */
static inline void *factors(sett_dtype t, size_t rows, size_t depth, size_t apart, int seed)
{
    const size_t bytes = (size_t)sett_dtype_bits(t) / 8, n = rows * apart;
    unsigned char *host = malloc(n * bytes);
    void *data = sett_alloc(r.e, r.stream.device, n * bytes);
    ck_assert(host && data);
    memset(host, 0xff, n * bytes);
    for (size_t i = 0; i < rows * depth; i++) {
        const uint32_t x = factor_bits(t, factor_at(i / depth, i % depth, seed));
        memcpy(host + (i / depth * apart + i % depth) * bytes, &x, bytes);
    }
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, n * bytes) && !sett_sync(r.e, r.stream));
    free(host);
    return data;
}

static inline double element(sett_dtype t, const unsigned char *p, size_t i)
{
    if (t != SETT_F8E4M3FN)
        return get(t, p, i);
    const int e = p[i] >> 3 & 15, m = p[i] & 7;
    const double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return p[i] & 128 ? -v : v;
}

static inline double residual_at(size_t i)
{
    return (double)(i % 9) - 4;
}

enum { UNTOUCHED = 0x5a };
static inline void *fill(sett_dtype t, unsigned char *host, size_t rows, size_t cols, size_t apart)
{
    const size_t bytes = rows * apart * (size_t)sett_dtype_bits(t) / 8;
    void *data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert_ptr_nonnull(data);
    memset(host, UNTOUCHED, bytes);
    for (size_t i = 0; i < rows * cols && cols; i++)
        put(t, host, i / cols * apart + i % cols, residual_at(i));
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, bytes) && !sett_sync(r.e, r.stream));
    return data;
}

static inline sett_buf rows_of(void *data, sett_dtype t, size_t rows, size_t cols, size_t apart)
{
    sett_buf x = sett_buf_2d(data, t, (int64_t)rows, (int64_t)cols);
    x.stride[0] = rows == 1 ? 1 : (int64_t)apart; /* that of one row leads nowhere */
    return x;
}

static inline double product_at(const product *p, const float *scale, size_t m, size_t k, size_t row, size_t col, size_t n)
{
    double sum = 0, up = 0;
    for (size_t x = 0; x < k; x++)
        sum += factor_at(row, x, 0) * factor_at(col, x, 3), up += factor_at(row, x, 0) * factor_at(col + n, x, 3);
    sum *= p->scaled ? (double)scale[row] * (double)scale[m + col] : 1;
    sum = p->swiglu ? sum / (1 + exp(-sum)) * up : sum;
    return sum + (p->residual ? residual_at(row * n + col) : 0);
}

static inline void run_product(const product *p, sett_body body, const void *o, sett_buf *A, sett_buf *B, sett_buf *R, sett_buf *C, sett_buf *SA, sett_buf *SB)
{
    if (p->scaled && p->residual)
        RUN(body, o, A, B, R, C, SA, SB);
    else if (p->scaled)
        RUN(body, o, A, B, C, SA, SB);
    else if (p->residual)
        RUN(body, o, A, B, R, C);
    else
        RUN(body, o, A, B, C);
}

/* more: rows lie so many times 16 bytes further apart than they are long, those of B and C once more each; 0: beside each other, and R is C. */
static inline void check_product(const product *p, sett_body body, const void *options, size_t m, size_t n, size_t k, size_t more)
{
    const sett_dtype c = p->c ? p->c : p->ab == SETT_F16 || p->ab == SETT_F32 ? p->ab : SETT_BF16;
    const size_t bytes = (size_t)sett_dtype_bits(c) / 8, vec = 128 / (size_t)sett_dtype_bits(p->ab), vec_c = 16 / bytes, rows_b = n << p->swiglu;
    const size_t la = (k + vec - 1) / vec * vec + more * vec, lb = more ? la + vec : la, lr = n + more * vec_c, lc = more ? lr + vec_c : lr;
    float *scale = malloc((m + n) * sizeof *scale);
    unsigned char *host = malloc(m * lc * bytes);
    ck_assert(scale && host);
    void *a = factors(p->ab, m, k, la, 0), *b = factors(p->ab, rows_b, k, lb, 3), *res = p->residual ? fill(c, host, m, n, lr) : NULL;
    void *to = res && !more ? res : fill(c, host, m, 0, lc), *s = sett_alloc(r.e, r.stream.device, (m + n) * sizeof *scale);
    for (size_t i = 0; i < m + n; i++)
        scale[i] = ldexpf(1, (int)(i % 4) - 2);
    ck_assert(s && !sett_memcpy(r.e, r.stream, s, scale, (m + n) * sizeof *scale));
    sett_buf A = rows_of(a, p->ab, m, k, la), B = rows_of(b, p->ab, rows_b, k, lb), R = rows_of(res, c, m, n, lr), C = rows_of(to, c, m, n, lc);
    sett_buf SA = sett_buf_1d(s, SETT_F32, (int64_t)m), SB = sett_buf_1d((float *)s + m, SETT_F32, (int64_t)n);
    run_product(p, body, options, &A, &B, &R, &C, &SA, &SB);
    ck_assert(!sett_memcpy(r.e, r.stream, host, to, m * lc * bytes) && !sett_sync(r.e, r.stream));
    for (size_t i = 0; i < m * n; i++) {
        const double sum = product_at(p, scale, m, k, i / n, i % n, n), got = element(c, host, i / n * lc + i % n), exactly = c == SETT_F32 ? 0 : c == SETT_F16 ? 0x1p-11 : c == SETT_BF16 ? 0x1p-8 : 0x1p-4;
        const double half = exactly + (p->swiglu ? 0x1p-20 : 0), want = c == SETT_F8E4M3FN ? fmax(-448, fmin(448, sum)) : sum;
        ck_assert_msg(fabs(got - want) <= fabs(want) * half + (half > 0 ? 0x1p-10 : 0), "%s to %s, (%zu,%zu): %g, not %g", sett_dtype_name(p->ab), sett_dtype_name(c), i / n, i % n, got, want);
    }
    for (size_t i = 0; i < m * (lc - n) * bytes; i++)
        ck_assert_int_eq(host[i / ((lc - n) * bytes) * lc * bytes + n * bytes + i % ((lc - n) * bytes)], UNTOUCHED);
    void *all[] = {a, b, s, to, res == to ? NULL : res};
    for (int i = 0; i < 5; i++)
        sett_free(r.e, r.stream.device, all[i]);
    free(host), free(scale);
}
#endif
