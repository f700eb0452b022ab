/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of products that lie anyhow, of factors -2 to 2, and what a product of them should be: for suites of products. */
#ifndef PLACED_RIG_H
#define PLACED_RIG_H
#include "tests/rig/kernels_rig.h"

/* ---- elements --------------------------------------------------------------------------------------------- */
static inline size_t bytes_of(sett_dtype t)
{
    return (size_t)sett_dtype_bits(t) / 8;
}

static inline uint32_t bits_of(sett_dtype t, int x)
{
    static const uint32_t f32[] = {0xc0000000, 0xbf800000, 0, 0x3f800000, 0x40000000}, f16[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}, e4m3[] = {0xc0, 0xb8, 0, 0x38, 0x40};
    return t == SETT_F32 ? f32[x + 2] : t == SETT_BF16 ? f32[x + 2] >> 16 : t == SETT_F16 ? f16[x + 2] : t == SETT_F8E5M2 ? f16[x + 2] >> 8 : t == SETT_F8E4M3FN ? e4m3[x + 2] : (uint32_t)x;
}

static inline double element(sett_dtype t, const unsigned char *p)
{
    uint16_t half = (uint16_t)(*p << 8);
    int32_t word;
    memcpy(&word, p, bytes_of(t) == 4 ? 4 : 1);
    return t == SETT_I32 ? word : t == SETT_I8 ? (int8_t)*p : t == SETT_F8E5M2 ? get(SETT_F16, &half, 0) : get(t, p, 0);
}

static inline int factor(size_t row, size_t k, size_t batch, int seed)
{
    return (int)((row * 7 + k * 3 + row * k + batch * 11 + (size_t)seed) % 5) - 2;
}

/* ---- operands ------------------------------------------------------------------------------------------------ */
/* Matrices of batches in one piece of memory: an element of (row,col,batch) is at row * stride[0] + ... elements behind `base`. */
typedef struct placed {
    sett_dtype t;
    size_t extent[3], stride[3], bytes;
    unsigned char *host, *base; /* base: within host */
    void *data;
    sett_buf buf;
} placed;

enum { NOBODYS = 0xff };

static inline unsigned char *at_of(const placed *x, size_t row, size_t col, size_t batch)
{
    return x->base + (row * x->stride[0] + col * x->stride[1] + batch * x->stride[2]) * bytes_of(x->t);
}

/* Rows, or columns, lie `more` times `align` bytes further apart than they are long, and memory begins at `align` bytes. */
static inline placed place(sett_dtype t, const size_t extent[3], bool batched, int major, size_t align, size_t more)
{
    placed x = {.t = t, .extent = {extent[0], extent[1], batched ? extent[2] : 1}};
    const size_t unit = align / bytes_of(t), along = extent[!major], apart = (along + unit - 1) / unit * unit + more * unit, each = apart * extent[major] + more * unit;
    x.stride[major] = apart, x.stride[!major] = 1, x.stride[2] = each;
    x.bytes = (each * x.extent[2]) * bytes_of(t) + align;
    x.host = malloc(x.bytes), x.base = x.host + (align < 16 ? align : 0);
    x.data = sett_alloc(r.e, r.stream.device, x.bytes);
    ck_assert(x.host && x.data);
    memset(x.host, NOBODYS, x.bytes);
    const int64_t shape[] = {(int64_t)extent[0], (int64_t)extent[1], (int64_t)x.extent[2]};
    x.buf = sett_buf_nd((unsigned char *)x.data + (x.base - x.host), t, batched ? 3 : 2, shape);
    for (int i = 0; i < 2 + batched; i++)
        x.buf.stride[i] = (int64_t)x.stride[i];
    return x;
}

static inline void send(placed *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->data, x->host, x->bytes) && !sett_sync(r.e, r.stream));
}

/* Int32 has numbers that Float32 has not. */
static inline int large_of(sett_dtype t)
{
    return t == SETT_I32 ? (1 << 25) + 1 : 0;
}

static inline void fill_factors(placed *x, int seed)
{
    for (size_t i = 0; i < x->extent[0] * x->extent[1] * x->extent[2]; i++) {
        const size_t row = i % x->extent[0], col = i / x->extent[0] % x->extent[1], batch = i / x->extent[0] / x->extent[1];
        const uint32_t bits = bits_of(x->t, factor(row, col, batch, seed) + large_of(x->t));
        memcpy(at_of(x, row, col, batch), &bits, bytes_of(x->t));
    }
    send(x);
}

static inline void drop_placed(int n, placed *x)
{
    for (int i = 0; i < n; i++)
        sett_free(r.e, r.stream.device, x[i].data), free(x[i].host);
}

/* ---- a product, and what it should be -------------------------------------------------------------------------- */
typedef struct problem {
    sett_gemm_mma_options o;
    size_t m, n, k, l, more; /* more: as place() has it */
} problem;
enum { A, B, R, C, SA, SB, OPERANDS };

static inline double scale_of(size_t i, size_t batch)
{
    return ldexp(1, (int)((i + 3 * batch) % 4) - 2);
}

/* What precedes the terms. */
static inline double sum_of(const problem *p, size_t row, size_t col, size_t batch)
{
    double sum = 0;
    for (size_t x = 0; x < p->k; x++)
        sum += factor(row, x, batch, 0) * factor(col, x, batch, 3);
    return sum;
}

static inline double value_of(const problem *p, size_t row, size_t col, size_t batch)
{
    double x = sum_of(p, row, col, batch);
    if (p->o.swiglu)
        x = x / (1 + exp(-x)) * sum_of(p, row, col + p->n, batch);
    if (p->o.scaled)
        x *= scale_of(row, batch) * scale_of(col + 1, batch);
    return x + (p->o.residual ? factor(row, col, batch, 1) + large_of(p->o.c) : 0);
}

static inline void check_element(const problem *p, sett_dtype c, double got, double sum, size_t row, size_t col)
{
    const bool ints = c == SETT_I32 || c == SETT_I8;
    const double ulp_of = c == SETT_F32 || ints ? 0 : c == SETT_F16 ? 0x1p-11 : c == SETT_BF16 ? 0x1p-8 : c == SETT_F8E4M3FN ? 0x1p-4 : 0x1p-3;
    const double half = ulp_of + (p->o.swiglu ? 0x1p-20 : 0);
    const double want = c == SETT_F8E4M3FN ? fmax(-448, fmin(448, sum)) : c == SETT_I8 ? fmax(-128, fmin(127, nearbyint(sum))) : sum;
    ck_assert_msg(fabs(got - want) <= fabs(want) * half + (half > 0 ? 0x1p-10 : 0), "%s to %s, %zu x %zu x %zu, (%zu,%zu): %g, not %g", sett_dtype_name(p->o.dtype), sett_dtype_name(c),
        p->m, p->n, p->k, row, col, got, want);
}

/* Each element of C, and what lies between its rows. */
static inline void check_result(const problem *p, placed *c)
{
    unsigned char *seen = calloc(1, c->bytes);
    ck_assert(seen && !sett_memcpy(r.e, r.stream, c->host, c->data, c->bytes) && !sett_sync(r.e, r.stream));
    for (size_t i = 0; i < p->m * p->n * c->extent[2]; i++) {
        const size_t row = i % p->m, col = i / p->m % p->n, batch = i / p->m / p->n;
        unsigned char *at_it = at_of(c, row, col, batch);
        check_element(p, c->t, element(c->t, at_it), value_of(p, row, col, batch), row, col);
        memset(seen + (at_it - c->host), 1, bytes_of(c->t));
    }
    for (size_t i = 0; i < c->bytes; i++)
        ck_assert_msg(seen[i] || c->host[i] == NOBODYS, "byte %zu of C, between rows, was written", i);
    free(seen);
}

static inline placed vector_of(size_t n, size_t l, bool batched, size_t from)
{
    const size_t extent[] = {n, 1, l};
    placed x = place(SETT_F32, extent, batched, 1, 4, 1);
    for (size_t i = 0; i < n * x.extent[2]; i++) {
        const float f = (float)scale_of(i % n + from, i / n);
        memcpy(at_of(&x, i % n, 0, i / n), &f, 4);
    }
    send(&x);
    x.buf.rank = 1 + batched, x.buf.stride[1] = x.buf.stride[2], x.buf.shape[1] = x.buf.shape[2];
    return x;
}
#endif
