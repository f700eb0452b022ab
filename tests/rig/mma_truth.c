/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/mma_truth.h"
#include <math.h>
#include <string.h>

/* sign * sig * 2^exp, where exp is of the last bit of sig; top: the exponent by which sums are cut. */
typedef struct number {
    enum { ZERO, FINITE, INF, NOT_A_NUMBER } is;
    bool negative;
    int64_t sig;
    int exp, top;
} number;

static bool is_8_bits(sett_dtype t)
{
    return t == SETT_F8E4M3FN || t == SETT_F8E5M2;
}

static bool is_int(sett_dtype t)
{
    return t == SETT_I8 || t == SETT_U8;
}

truth truth_of(int sm, bool group, sett_dtype a, sett_dtype b, sett_dtype c, int k)
{
    const bool hopper = sm >= 90, half = c == SETT_F16;
    truth t = {.a = a, .b = b, .c = c, .k = k, .fraction = 23};
    t.keep = hopper ? 25 : 24;
    t.floor = half ? (hopper ? -21 : -20) : hopper ? -133 : -132;
    t.group = hopper ? k : a == SETT_TF32 ? 4 : 8;
    if (is_8_bits(a) && (group || sm == 89)) { /* one of floats of 8 bits */
        t.keep = t.fraction = 13;
        t.group = group ? 32 : 16;
        t.floor = sm == 89 ? -132 : t.floor;
    } else if (is_8_bits(a) && sm < 120) { /* two of f16, and an addition */
        t.split = true;
    }
    return t;
}

static number unpack(sett_dtype type, uint64_t x)
{
    int bits = type == SETT_F8E4M3FN ? 4 : type == SETT_F16 || type == SETT_F8E5M2 ? 5 : 8;
    int mantissa = type == SETT_F8E4M3FN ? 3 : type == SETT_F8E5M2 ? 2 : type == SETT_BF16 ? 7 : type == SETT_F32 ? 23 : 10;
    x >>= type == SETT_TF32 ? 13 : 0;
    int e = (int)(x >> mantissa) & ((1 << bits) - 1), bias = (1 << (bits - 1)) - 1;
    int64_t m = (int64_t)(x & ((UINT64_C(1) << mantissa) - 1));
    number n = {.is = FINITE, .negative = x >> (bits + mantissa) & 1, .sig = e ? m | INT64_C(1) << mantissa : m, .top = (e ? e : 1) - bias};
    n.exp = n.top - mantissa;
    if (type == SETT_F8E4M3FN)
        n.is = e == 15 && m == 7 ? NOT_A_NUMBER : n.sig ? FINITE : ZERO;
    else
        n.is = e == (1 << bits) - 1 ? (m ? NOT_A_NUMBER : INF) : n.sig ? FINITE : ZERO;
    return n;
}

/* A float of 8 bits as an f16: what is subnormal of e4m3 is a normal number there. */
static number unpack_half(sett_dtype type, uint64_t x)
{
    number n = unpack(type, x);
    while (n.is == FINITE && n.top > -14 && n.sig < INT64_C(1) << (n.top - n.exp))
        n.top--;
    return n;
}

static number times(number a, number b)
{
    number p = {.is = FINITE, .negative = a.negative != b.negative, .sig = a.sig * b.sig, .exp = a.exp + b.exp, .top = a.top + b.top};
    bool inf = a.is == INF || b.is == INF, zero = a.is == ZERO || b.is == ZERO;
    p.is = a.is == NOT_A_NUMBER || b.is == NOT_A_NUMBER || (inf && zero) ? NOT_A_NUMBER : inf ? INF : zero ? ZERO : FINITE;
    return p;
}

/* In multiples of 2^unit, toward zero. */
static int64_t cut(number x, int unit)
{
    int64_t m = x.is == FINITE ? x.sig : 0;
    int by = x.exp - unit;
    m = by >= 0 ? m << (m ? by : 0) : by > -63 ? m >> -by : 0;
    return x.negative ? -m : m;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* To a multiple of 2^unit: toward zero, or to the nearest, of two as near the even one. */
static double to_unit(double x, int unit, bool nearest)
{
    double y = ldexp(fabs(x), -unit), d = floor(y);
    if (nearest && (y - d > 0.5 || (y - d == 0.5 && fmod(d, 2) == 1)))
        d += 1;
    return copysign(ldexp(d, unit), x);
}

static uint64_t half_bits(double x)
{
    int e;
    frexp(x, &e);
    x = to_unit(x, e - 1 < -14 ? -24 : e - 11, true);
    frexp(x, &e);
    double a = fabs(x);
    uint64_t sign = x < 0 ? 0x8000 : 0;
    if (a >= 65536)
        return sign | 0x7c00;
    if (a < 0x1p-14)
        return a == 0 ? 0 : sign | (uint64_t)(a * 0x1p24);
    return sign | (((uint64_t)(e - 1 + 14) << 10) + (uint64_t)ldexp(a, 11 - e));
}

static uint64_t float_bits(double x, int fraction)
{
    int e;
    frexp(x, &e);
    x = to_unit(x, (e - 1 < -126 ? -126 : e - 1) - fraction, false);
    if (fabs(x) >= 0x1p128)
        return x < 0 ? 0xff800000u : 0x7f800000u;
    return x == 0 ? 0 : bits_of((float)x);
}

static uint64_t fused(const truth *t, const number *p, int n, uint64_t c_bits)
{
    bool nan = false, inf = false, minus_inf = false, half = t->c == SETT_F16;
    number c = unpack(half ? SETT_F16 : SETT_F32, c_bits);
    int top = t->floor;
    for (int i = 0; i <= n; i++) {
        number x = i < n ? p[i] : c;
        nan |= x.is == NOT_A_NUMBER;
        inf |= x.is == INF && !x.negative;
        minus_inf |= x.is == INF && x.negative;
        top = x.is == FINITE && x.top > top ? x.top : top;
    }
    if (nan || (inf && minus_inf))
        return half ? 0x7fff : 0x7fffffff;
    if (inf || minus_inf)
        return (half ? 0x7c00u : 0x7f800000u) | (minus_inf ? (half ? 0x8000u : 0x80000000u) : 0);
    int64_t sum = cut(c, top - t->keep);
    for (int i = 0; i < n; i++)
        sum += cut(p[i], top - t->keep);
    double x = ldexp((double)sum, top - t->keep);
    return half ? half_bits(x) : float_bits(x, t->fraction);
}

/* One addition by IEEE. */
static uint64_t added(sett_dtype type, uint64_t x, uint64_t y)
{
    number n[2] = {unpack(type, x), unpack(type, y)};
    double v[2];
    for (int i = 0; i < 2; i++) {
        double m = n[i].is == INF ? (double)INFINITY : n[i].is == NOT_A_NUMBER ? (double)NAN : ldexp((double)n[i].sig, n[i].exp);
        v[i] = n[i].negative ? -m : m;
    }
    if (type == SETT_F32) {
        float f = (float)v[0] + (float)v[1];
        return isnan(f) ? 0x7fffffff : bits_of(f);
    }
    double d = v[0] + v[1];
    return isnan(d) ? 0x7fff : isinf(d) ? (d < 0 ? 0xfc00 : 0x7c00) : half_bits(d);
}

static uint64_t split_element(const truth *t, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    number p[32];
    uint64_t r = 0;
    for (int step = 0; step < 2; step++) {
        int n = 0;
        for (int k = 0; k < t->k; k++)
            if (k % 4 / 2 == step)
                p[n++] = times(unpack_half(t->a, a[k]), unpack_half(t->b, b[k]));
        r = fused(t, p, n, r);
    }
    return added(t->c, r, c);
}

static uint64_t int_element(const truth *t, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    int64_t sum = (int32_t)(uint32_t)c;
    for (int k = 0; k < t->k; k++) {
        int64_t x = t->a == SETT_I8 ? (int8_t)a[k] : (uint8_t)a[k], y = t->b == SETT_I8 ? (int8_t)b[k] : (uint8_t)b[k];
        sum += x * y;
    }
    if (t->clamp)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)(uint64_t)sum;
}

static double double_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}

static uint64_t double_element(const truth *t, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    for (int k = 0; k < t->k; k++) {
        const uint64_t in[3] = {b[k], c, a[k]};
        double d = fma(double_of(a[k]), double_of(b[k]), double_of(c));
        memcpy(&c, &d, 8);
        if (!isnan(d))
            continue;
        c = UINT64_C(0xfff8000000000000);
        for (int i = 2; i >= 0; i--)
            if (isnan(double_of(in[i])))
                c = in[i] | UINT64_C(1) << 51;
    }
    return c;
}

uint64_t truth_element(const truth *t, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    number p[32];
    if (is_int(t->a))
        return int_element(t, a, b, c);
    if (t->a == SETT_F64)
        return double_element(t, a, b, c);
    if (t->split)
        return split_element(t, a, b, c);
    for (int k = 0; k < t->k; k += t->group) {
        int n = t->group < t->k - k ? t->group : t->k - k;
        for (int i = 0; i < n; i++)
            p[i] = times(unpack(t->a, a[k + i]), unpack(t->b, b[k + i]));
        c = fused(t, p, n, c);
    }
    return c;
}
