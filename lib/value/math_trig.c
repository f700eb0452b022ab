/* SPDX-License-Identifier: Apache-2.0 */
/* Sine, cosine and tangent, of arguments of any size.
 *
 * |x| = q pi/2 + r. From pi/4 on q and r come out of integers (Payne and Hanek 1983): of the
 * product of x's mantissa and the bits of 2/pi those that matter are two before the binary point,
 * as many as can cancel and as many as are wanted, so a window of a few words, which the exponent
 * chooses. There is one path for all arguments, and a sine and a cosine share it. */
#include "expand.h"
#include <math.h>

static const uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
    0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
    0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
    0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
    0x56033046, 0xfc7b6bab,
};
static const struct trig_info {
    int mantissa, bias;
    int words;            /* of the window, after the shift */
    int fraction, before; /* bits of the product behind the point; the window starts so many words before theirs */
    double quarter, half_hi, half_lo; /* pi/4, pi/2 */
} info[2] = {{23, 127, 3, 62, 1, 0x1.921fb6p-1, 0x1.921fb6p+0, -0x1.777a5cp-25},
    {52, 1023, 6, 126, 2, 0x1.921fb54442d18p-1, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}};

/* (sin(r)/r - 1)/r^2 and (cos(r) - 1 + r^2/2)/r^4 over r^2, |r| <= pi/4; relative to r and to 1 */
/* 2^-32.3 */
static const double sin_32[] = {-0x1.555556p-3, 0x1.111166p-7, -0x1.a04a7cp-13, 0x1.7867f4p-19};
/* 2^-62.9 */
static const double sin_64[] = {-0x1.5555555555555p-3, 0x1.1111111111089p-7, -0x1.a01a01a0065e3p-13,
    0x1.71de3a3f6cd43p-19, -0x1.ae643c5f6e0fdp-26, 0x1.61141639cfa34p-33, -0x1.a517477a45305p-41};
/* 2^-33.1 */
static const double cos_32[] = {0x1.55554ap-5, -0x1.6c0c2ep-10, 0x1.99eac2p-16};
/* 2^-64.1 */
static const double cos_64[] = {0x1.555555555554bp-5, -0x1.6c16c16c15046p-10, 0x1.a01a019c9697fp-16,
    -0x1.27e4f7f80e871p-22, 0x1.1ee9e0a72f418p-29, -0x1.8fa9264b27f3cp-37};

static sett_val *const_u64(const sett__expand_at *a, uint64_t x)
{
    return sett__const_bits(a->b, a->site, SETT_U64, x);
}

/* window[k] = the word first + k, shifted left, with what that moves in from the next. A bit of `first` at a time
 * settles where the window lies, so that fewer words may still be meant; at its highest bit alone `first` is even that. */
static void choose_window(const sett__expand_at *a, sett_val *first, sett_val *shift, sett_val **window)
{
    int n = info[a->wide].words, before = info[a->wide].before, most = a->wide ? 32 : 4;
    sett_val *w[40];
    for (int i = 0; i <= most + n; i++)
        w[i] = X_U32(i < before ? 0 : two_over_pi[i - before]);
    for (int step = most; step; step /= 2) {
        int need = (step == most ? 0 : step - 1) + n;
        sett_val *far = X_TEST(SETT__NE, X_AND(first, X_U32((uint32_t)step)), X_U32(0));
        for (int i = 0; i <= need; i++)
            w[i] = X_IF(far, w[i + step], w[i]);
    }
    sett_val *back = X_SUB(X_U32(32), shift);
    for (int i = 0; i < n; i++)
        window[i] = X_TO(X_OR(X_SHL(w[i], shift), X_SHR(w[i + 1], back)), SETT_U64);
}

/* The product modulo 4, in units of 2^-62: the top two bits count quarters. */
static sett_val *product_32(const sett__expand_at *a, sett_val *m, sett_val *const *v)
{
    sett_val *half = const_u64(a, 32), *top = X_SHL(X_MUL(m, v[0]), half);
    return X_ADD(X_ADD(top, X_MUL(m, v[1])), X_SHR(X_MUL(m, v[2]), half));
}

/* The same in units of 2^-126: the upper 64 bits, and the lower. What is dropped adds up to a few units. */
static sett_val *product_64(const sett__expand_at *a, sett_val *m, sett_val *const *v, sett_val **lower)
{
    sett_val *half = const_u64(a, 32), *mask = const_u64(a, UINT32_MAX), *m0 = X_AND(m, mask), *m1 = X_SHR(m, half), *sum, *carry;
    sett_val *p = X_MUL(v[4], m0), *q = X_MUL(v[5], m1);
    carry = X_ADD(X_SHR(p, half), X_SHR(q, half));
    for (int i = 3; i >= 2; i--) {
        p = X_MUL(v[i], m0);
        q = X_MUL(v[i + 1], m1);
        sum = X_ADD(carry, X_ADD(X_AND(p, mask), X_AND(q, mask)));
        *lower = i == 3 ? X_AND(sum, mask) : X_OR(*lower, X_SHL(sum, half));
        carry = X_ADD(X_SHR(sum, half), X_ADD(X_SHR(p, half), X_SHR(q, half)));
    }
    carry = X_ADD(carry, X_ADD(X_MUL(v[1], m0), X_MUL(v[2], m1)));
    return X_ADD(carry, X_SHL(X_ADD(X_MUL(v[0], m0), X_MUL(v[1], m1)), half));
}

typedef struct reduced { sett_val *quarter; sett__two r; } reduced; /* |x| = quarter pi/2 + r; quarter modulo 4, Uint64 */

static reduced reduce_angle(const sett__expand_at *a, sett_val *y)
{
    const struct trig_info *k = &info[a->wide];
    sett_val *bits = X_BITS(y), *window[6], *lower = NULL, *upper;
    sett_val *at = X_ADD(X_SHR(bits, X_WHOLE(k->mantissa)), X_WHOLE(k->fraction - k->bias - k->mantissa - 32 * k->before));
    at = X_TO(at, SETT_U32);
    choose_window(a, X_SHR(at, X_U32(5)), X_AND(at, X_U32(31)), window);
    int64_t hidden = INT64_C(1) << k->mantissa;
    sett_val *m = X_TO(X_OR(X_AND(bits, X_WHOLE(hidden - 1)), X_WHOLE(hidden)), SETT_U64);
    upper = a->wide ? product_64(a, m, window, &lower) : product_32(a, m, window);
    sett_val *quarter = X_SHR(X_ADD(upper, const_u64(a, UINT64_C(1) << 61)), const_u64(a, 62));
    sett_val *rest = X_TO(X_SUB(upper, X_SHL(quarter, const_u64(a, 62))), SETT_I64), *scale = X_REAL(0x1p-62);
    /* hi: the nearest float; lo: what that lost, and the lower bits */
    sett_val *hi = X_TO(rest, a->d), *lo = X_MUL(X_TO(X_SUB(rest, X_TO(hi, SETT_I64)), a->d), scale);
    if (lower)
        lo = X_FMA(X_TO(lower, a->d), X_REAL(0x1p-126), lo);
    sett__two t = sett__sum2(a, X_MUL(hi, scale), lo), r = sett__mul2(a, t.hi, X_REAL(k->half_hi));
    r.lo = X_ADD(r.lo, X_FMA(t.hi, X_REAL(k->half_lo), X_MUL(t.lo, X_REAL(k->half_hi))));
    sett_val *small = X_TEST(SETT__LT, y, X_REAL(k->quarter));
    return (reduced){X_IF(small, const_u64(a, 0), quarter), {X_IF(small, y, r.hi), X_IF(small, X_REAL(0), r.lo)}};
}

typedef struct circle { sett__two sin, cos; sett_val *quarter; } circle; /* of r */

static circle sin_and_cos(const sett__expand_at *a, sett_val *x)
{
    reduced v = reduce_angle(a, X_ABS(x));
    sett_val *r = v.r.hi, *z = X_MUL(r, r), *half = X_MUL(z, X_REAL(0.5)), *one = X_REAL(1);
    sett_val *w = X_SUB(one, half), *lost = X_SUB(X_SUB(one, w), half);
    sett_val *tail = X_FMA(X_MUL(z, z), X_POLY(cos, z), X_MUL(X_NEG(r), v.r.lo));
    sett__two cosine = sett__sum2(a, w, X_ADD(lost, tail));
    sett__two sine = sett__sum2(a, r, X_FMA(X_MUL(r, z), X_POLY(sin, z), X_MUL(v.r.lo, w)));
    return (circle){sine, cosine, v.quarter};
}

/* A bit of the quarter at the place of the sign. */
static sett_val *quarter_bit(const sett__expand_at *a, sett_val *v, sett_val *quarter, int bit)
{
    sett_val *sign = X_SHL(X_TO(X_AND(quarter, const_u64(a, UINT64_C(1) << bit)), a->i), X_WHOLE((a->wide ? 63 : 31) - bit));
    return X_FLOAT(X_XOR(X_BITS(v), sign));
}

static sett_val *is_odd(const sett__expand_at *a, sett_val *quarter)
{
    return X_TEST(SETT__NE, X_AND(quarter, const_u64(a, 1)), const_u64(a, 0));
}

static sett_val *finite_only(const sett__expand_at *a, sett_val *x, sett_val *r)
{
    return X_IF(X_TEST(SETT__LT, X_ABS(x), X_REAL((double)INFINITY)), r, X_REAL((double)NAN));
}

sett_val *sett__sin(const sett__expand_at *a, sett_val *x)
{
    circle c = sin_and_cos(a, x);
    sett_val *r = quarter_bit(a, X_IF(is_odd(a, c.quarter), c.cos.hi, c.sin.hi), c.quarter, 1);
    return finite_only(a, x, X_FLOAT(X_XOR(X_BITS(r), sett__sign(a, x))));
}

/* cos(q pi/2 + r) = sin((q + 1) pi/2 + r) */
sett_val *sett__cos(const sett__expand_at *a, sett_val *x)
{
    circle c = sin_and_cos(a, x);
    sett_val *r = X_IF(is_odd(a, c.quarter), c.sin.hi, c.cos.hi);
    return finite_only(a, x, quarter_bit(a, r, X_ADD(c.quarter, const_u64(a, 1)), 1));
}

sett_val *sett__tan(const sett__expand_at *a, sett_val *x)
{
    circle c = sin_and_cos(a, x);
    sett_val *odd = is_odd(a, c.quarter), *top = X_IF(odd, c.cos.hi, c.sin.hi), *bottom = X_IF(odd, c.sin.hi, c.cos.hi);
    sett_val *top_lo = X_IF(odd, c.cos.lo, c.sin.lo), *bottom_lo = X_IF(odd, c.sin.lo, c.cos.lo);
    sett_val *q = X_DIV(top, bottom), *minus = X_NEG(q);
    sett_val *rest = X_ADD(X_FMA(minus, bottom, top), X_FMA(minus, bottom_lo, top_lo));
    q = X_IF(X_TEST(SETT__EQ, top, X_REAL(0)), q, X_ADD(q, X_DIV(rest, bottom))); /* a zero keeps its sign */
    sett_val *r = quarter_bit(a, q, c.quarter, 0);
    return finite_only(a, x, X_FLOAT(X_XOR(X_BITS(r), sett__sign(a, x))));
}
