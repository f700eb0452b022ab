/* SPDX-License-Identifier: Apache-2.0 */
/* What every example needs and none is about: an engine, random buffers on its default
 * device, and a look at the result on the host. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H
#include <math.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    sett_engine *e;
    sett_stream stream;
    sett_error err;
    uint64_t seed;
} run;

static inline int check(run *r, sett_status s)
{
    if (!s)
        return 0;
    fprintf(stderr, "%s\n", r->err.text[0] ? r->err.text : sett_status_text(s));
    exit(1);
}

static inline run run_open(void)
{
    run r = {.seed = 1};
    check(&r, sett_engine_open(&r.e, NULL, &r.err));
    r.stream.device = sett_default_device(r.e);
    return r;
}

static inline void run_close(run *r)
{
    check(r, sett_sync_error(r->e, r->stream, &r->err));
    sett_engine_close(r->e);
}

static inline double uniform(uint64_t *seed) /* [-1, 1), xorshift */
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1.0;
}

/* One element of a buffer in host memory, as a double, and back (nearest even). */
static inline float bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
typedef struct small_float {
    int mantissa, bias;
} small_float;
static inline small_float small_float_of(sett_dtype t) /* Float16 or Float8E4M3FN */
{
    return t == SETT_F16 ? (small_float){10, 15} : (small_float){3, 7};
}
static inline double get(sett_dtype t, const void *p, size_t i)
{
    if (t == SETT_F32)
        return ((const float *)p)[i];
    if (t == SETT_BF16)
        return bits_float((uint32_t)((const uint16_t *)p)[i] << 16);
    const small_float f = small_float_of(t);
    const unsigned h = t == SETT_F16 ? ((const uint16_t *)p)[i] : ((const uint8_t *)p)[i], sign = 1u << (t == SETT_F16 ? 15 : 7), one = 1u << f.mantissa;
    const int exp = (int)((h & (sign - 1)) >> f.mantissa), man = (int)(h & (one - 1));
    double v = exp ? ldexp((int)one + man, exp - f.bias - f.mantissa) : ldexp(man, 1 - f.bias - f.mantissa);
    if (t == SETT_F16 && exp == 31)
        v = man ? NAN : INFINITY;
    else if (t != SETT_F16 && exp == 15 && man == 7)
        v = NAN;
    return h & sign ? -v : v;
}
static inline void put(sett_dtype t, void *p, size_t i, double v) /* |v| is in the type's range */
{
    if (t == SETT_F32) {
        ((float *)p)[i] = (float)v;
    } else if (t == SETT_BF16) {
        uint32_t u = float_bits((float)v);
        ((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    } else {
        const small_float f = small_float_of(t);
        int exp;
        const double a = fabs(v), m = frexp(a, &exp);
        unsigned bits = (unsigned)nearbyint(ldexp(a, f.bias - 1 + f.mantissa)); /* subnormal */
        if (a >= ldexp(1, 1 - f.bias))
            bits = ((unsigned)(exp + f.bias - 1) << f.mantissa) + (unsigned)nearbyint(ldexp(m, f.mantissa + 1)) - (1u << f.mantissa);
        if (t == SETT_F16)
            ((uint16_t *)p)[i] = (uint16_t)(bits | (signbit(v) ? 0x8000u : 0));
        else
            ((uint8_t *)p)[i] = (uint8_t)(bits | (signbit(v) ? 0x80u : 0));
    }
}

/* A row-major matrix on the device and its copy on the host. */
typedef struct matrix {
    sett_buf buf;
    void *host;
    size_t bytes;
} matrix;

static inline matrix matrix_random(run *r, sett_dtype t, int64_t rows, int64_t cols)
{
    matrix m = {.bytes = (size_t)(rows * cols) * (size_t)sett_dtype_bits(t) / 8};
    m.host = malloc(m.bytes);
    void *data = sett_alloc(r->e, r->stream.device, m.bytes);
    if (!m.host || !data) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < (size_t)(rows * cols); i++)
        put(t, m.host, i, uniform(&r->seed));
    check(r, sett_memcpy(r->e, r->stream, data, m.host, m.bytes));
    m.buf = sett_buf_2d(data, t, rows, cols);
    return m;
}

/* Brings what the kernel wrote to m->host. EXAMPLE_BITS=1 prints a hash of it (FNV-1a), which is the same on the CPU and on a GPU but where
 * the hardware's approximations are in it. */
static inline void matrix_fetch(run *r, matrix *m)
{
    check(r, sett_memcpy(r->e, r->stream, m->host, m->buf.data, m->bytes));
    check(r, sett_sync_error(r->e, r->stream, &r->err));
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < m->bytes; i++)
        hash = (hash ^ ((const unsigned char *)m->host)[i]) * 1099511628211u;
    if (getenv("EXAMPLE_BITS"))
        printf("bits %016llx\n", (unsigned long long)hash);
}

static inline void matrix_free(run *r, matrix *m)
{
    sett_free(r->e, r->stream.device, m->buf.data);
    free(m->host);
}

/* Prints `what: N elements, ok`, or the first that differs by more than tol of its size and stops. */
static inline void expect(const char *what, size_t i, double got, double want, double tol)
{
    if (fabs(got - want) <= tol * fmax(1.0, fabs(want)))
        return;
    fprintf(stderr, "%s: element %zu is %.9g, should be %.9g\n", what, i, got, want);
    exit(1);
}
#endif
