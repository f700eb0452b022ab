/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithms, and the functions that are logarithms.
 *
 * x = 2^k m with m in [2/3, 4/3); log x = k log 2 + log(1 + f) with f = m - 1, which is exact.
 * Above each table its greatest error, relative to the result. */
#include "expand.h"
#include <math.h>

/* Of a logarithm: its value of 2 as hi + lo, hi with so few bits that k * hi is exact, and what it is times the natural one. */
struct base { double two_hi, two_lo, per_hi, per_lo; };
static const struct base natural[2] = {{0x1.62ep-1, 0x1.0bfbe8p-15, 1, 0}, {0x1.62e42fefa4p-1, -0x1.8432a1b0e2634p-43, 1, 0}};
static const struct base binary[2] = {{1, 0, 0x1.715476p+0, 0x1.4ae0cp-26}, {1, 0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}};
static const struct base decimal[2] = {{0x1.344p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2, -0x1.5b235ep-27},
    {0x1.34413509f8p-2, -0x1.80433b83b532ap-44, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}};
static const struct log_info {
    int mantissa;
    int64_t third;  /* the bits of 2/3 */
    double least, raise, tiny; /* the least normal number, what lifts subnormal ones, log1p(x) is x below */
    int raised;                /* log2 of raise */
    double huge;               /* of which the square is finite, and 1 + x^2 is x^2 */
    double two_thirds, two_thirds_lo;
} info[2] = {{23, 0x3f2aaaab, 0x1p-126, 0x1p24, 0x1p-25, 24, 0x1p14, 0x1.555556p-1, -0x1.555556p-26},
    {52, 0x3fe5555555555555, 0x1p-1022, 0x1p54, 0x1p-54, 54, 0x1p30, 0x1.5555555555555p-1, 0x1.5555555555555p-55}};

/* (log(1 + f) - f)/f^2 on [-1/3, 1/3] */
/* 2^-27.6 */
static const double log_32[] = {-0x1p-1, 0x1.5555p-2, -0x1.ffff6ap-3, 0x1.99d268p-3, -0x1.55884ep-3,
    0x1.1eb8dep-3, -0x1.f56284p-4, 0x1.1ee68ap-3, -0x1.03037ap-3};
/* 2^-59.2 */
static const double log_64[] = {-0x1p-1, 0x1.5555555555535p-2, -0x1.fffffffffffc6p-3, 0x1.99999999a0692p-3,
    -0x1.555555555b98ep-3, 0x1.249249209578ep-3, -0x1.fffffff890b54p-4, 0x1.c71c74170788bp-4,
    -0x1.99999bc614b75p-4, 0x1.745cb4d68af68p-4, -0x1.5554f84295a5fp-4, 0x1.3b1dc83b5b629p-4,
    -0x1.249bdd9137a8cp-4, 0x1.1068ce487b04cp-4, -0x1.febf7f3e5f722p-5, 0x1.efc7525246cb7p-5,
    -0x1.d460abb76d63cp-5, 0x1.55fd1dadf933ep-5, -0x1.4450089a576c3p-5, 0x1.5c311a6bfffa6p-4,
    -0x1.4cdd590a9863fp-4};
/* (2 atanh(s)/s - 2 - 2/3 s^2)/s^4 over s^2, |s| <= 3 - 2 sqrt(2); relative to 2 s */
/* 2^-36.5 */
static const double logs_32[] = {0x1.999a0ap-2, 0x1.244eacp-2, 0x1.e053a6p-3};
/* 2^-65.9 */
static const double logs_64[] = {0x1.9999999999b86p-2, 0x1.249249244df2cp-2, 0x1.c71c723b1c028p-3,
    0x1.745ce533d7066p-3, 0x1.3b1fc479c1f3bp-3, 0x1.0f6c25495bbd5p-3, 0x1.0efafae8e79dcp-3};

typedef struct reduced { sett_val *k, *f; } reduced; /* both of the float type */

/* Of x > 0; more: added to k. least: the bits of the least m. */
static reduced reduce_log(const sett__expand_at *a, sett_val *x, sett_val *more, int64_t least)
{
    const struct log_info *c = &info[a->wide];
    sett_val *bits = X_BITS(x), *k = X_SHR(X_SUB(bits, X_WHOLE(least)), X_WHOLE(c->mantissa));
    sett_val *m = X_FLOAT(X_SUB(bits, X_SHL(k, X_WHOLE(c->mantissa))));
    return (reduced){X_TO(more ? X_ADD(k, more) : k, a->d), X_SUB(m, X_REAL(1))};
}

/* The same of any x, subnormal ones raised. */
static reduced reduce_any(const sett__expand_at *a, sett_val *x, int64_t least)
{
    const struct log_info *c = &info[a->wide];
    sett_val *small = X_TEST(SETT__LT, x, X_REAL(c->least));
    sett_val *more = X_IF(small, X_WHOLE(-c->raised), X_WHOLE(0));
    return reduce_log(a, X_IF(small, X_MUL(x, X_REAL(c->raise)), x), more, least);
}

/* k log 2 + log(1 + f + low) in a base; low NULL: 0. */
static sett_val *log_of(const sett__expand_at *a, reduced v, sett_val *low, const struct base *base)
{
    sett_val *square = X_MUL(v.f, v.f), *rest = X_POLY(log, v.f), *tail = X_MUL(square, rest);
    if (low)
        tail = X_ADD(tail, X_FMA(X_NEG(low), v.f, low)); /* log' = 1/(1 + f) */
    sett__two p = {X_ADD(v.f, tail), NULL};
    sett_val *left = X_SUB(v.f, p.hi);
    /* Not of the rounded tail: just above 4/3, where k and p nearly cancel, its rounding would take log2 over an ulp. */
    p.lo = low ? X_ADD(left, tail) : X_FMA(square, rest, left);
    if (base->per_hi != 1) {
        sett_val *hi = X_REAL(base->per_hi), *y = X_MUL(p.hi, hi);
        p.lo = X_FMA(p.hi, X_REAL(base->per_lo), X_FMA(p.lo, hi, X_FMA(p.hi, hi, X_NEG(y))));
        p.hi = y;
    }
    sett__two r = sett__sum2(a, X_MUL(v.k, X_REAL(base->two_hi)), p.hi);
    return X_ADD(r.hi, X_ADD(r.lo, X_FMA(v.k, X_REAL(base->two_lo), p.lo)));
}

/* r, but what a logarithm of x is for infinity, zero and below, and NaN. */
static sett_val *log_edges(const sett__expand_at *a, sett_val *x, sett_val *r)
{
    sett_val *zero = X_REAL(0), *endless = X_REAL((double)INFINITY);
    sett_val *edge = X_IF(X_TEST(SETT__EQ, x, zero), X_NEG(endless), X_REAL((double)NAN));
    r = X_IF(X_TEST(SETT__EQ, x, endless), x, r);
    return X_IF(X_TEST(SETT__GT, x, zero), r, edge);
}

static sett_val *log_in(const sett__expand_at *a, sett_val *x, const struct base *base)
{
    return log_edges(a, x, log_of(a, reduce_any(a, x, info[a->wide].third), NULL, &base[a->wide]));
}

sett_val *sett__ln(const sett__expand_at *a, sett_val *x)
{
    return log_in(a, x, natural);
}

sett_val *sett__log2(const sett__expand_at *a, sett_val *x)
{
    return log_in(a, x, binary);
}

sett_val *sett__log10(const sett__expand_at *a, sett_val *x)
{
    return log_in(a, x, decimal);
}

/* log(1 + x) + more log 2, with x as hi + lo >= -1; more may be NULL. */
static sett_val *log1p_two(const sett__expand_at *a, sett__two x, sett_val *more)
{
    const struct log_info *c = &info[a->wide];
    sett_val *one = X_REAL(1), *u = X_ADD(one, x.hi), *part = X_SUB(u, one);
    sett_val *low = X_ADD(X_SUB(one, X_SUB(u, part)), X_SUB(x.hi, part)); /* 1 + x = u + low */
    if (x.lo)
        low = X_ADD(low, x.lo);
    reduced v = reduce_log(a, u, NULL, c->third);
    sett_val *k = X_MIN(X_TO(v.k, a->i), X_WHOLE(100)); /* low is nothing beside a greater u */
    low = X_MUL(low, X_FLOAT(X_SUB(X_BITS(one), X_SHL(k, X_WHOLE(c->mantissa)))));
    sett__two f = sett__sum2(a, v.f, low);
    if (more)
        v.k = X_ADD(v.k, more);
    return log_of(a, (reduced){v.k, f.hi}, f.lo, &natural[a->wide]);
}

sett_val *sett__log1p(const sett__expand_at *a, sett_val *x)
{
    sett_val *r = log_edges(a, X_ADD(x, X_REAL(1)), log1p_two(a, (sett__two){x, NULL}, NULL));
    return X_IF(X_TEST(SETT__LT, X_ABS(x), X_REAL(info[a->wide].tiny)), x, r);
}

/* log(|x| + sqrt(x^2 + 1)) = log1p(|x| + x^2/(1 + sqrt(x^2 + 1))); of a huge x log(x) + log(2). */
sett_val *sett__asinh(const sett__expand_at *a, sett_val *x)
{
    sett_val *y = X_ABS(x), *huge = X_TEST(SETT__GT, y, X_REAL(info[a->wide].huge)), *one = X_REAL(1);
    sett_val *w = X_IF(huge, one, y), *z = X_MUL(w, w);
    sett_val *rest = X_DIV(z, X_ADD(one, X_SQRT(X_ADD(z, one))));
    sett__two s = sett__sum2(a, y, X_IF(huge, X_REAL(-1), rest));
    sett_val *r = log1p_two(a, s, X_IF(huge, one, X_REAL(0)));
    r = X_IF(X_TEST(SETT__LT, y, X_REAL((double)INFINITY)), r, X_ADD(y, y));
    return sett__with_sign(a, r, x);
}

/* log1p(t + sqrt(t (t + 2))) with t = x - 1 */
sett_val *sett__acosh(const sett__expand_at *a, sett_val *x)
{
    sett_val *huge = X_TEST(SETT__GT, x, X_REAL(info[a->wide].huge)), *one = X_REAL(1);
    sett_val *t = X_SUB(x, one), *w = X_IF(huge, one, t);
    sett_val *p = X_FMA(w, w, X_ADD(w, w)), *s = X_SQRT(p);
    sett__two f = sett__sum2(a, X_IF(huge, t, s), X_IF(huge, X_REAL(0), t));
    sett_val *r = log1p_two(a, f, X_IF(huge, one, X_REAL(0)));
    return X_IF(X_TEST(SETT__EQ, x, X_REAL((double)INFINITY)), x, X_IF(X_TEST(SETT__LT, x, one), X_REAL((double)NAN), r));
}

/* log1p(2 y/(1 - y))/2 with y = |x| */
sett_val *sett__atanh(const sett__expand_at *a, sett_val *x)
{
    sett_val *one = X_REAL(1), *y = X_ABS(x), *top = X_ADD(y, y);
    sett__two d = sett__sum2(a, one, X_NEG(y));
    sett_val *q = X_DIV(top, d.hi), *rest = X_FMA(X_NEG(q), d.lo, X_FMA(X_NEG(q), d.hi, top));
    sett_val *r = X_MUL(X_REAL(0.5), log1p_two(a, (sett__two){q, X_DIV(rest, d.hi)}, NULL));
    sett_val *edge = X_IF(X_TEST(SETT__EQ, y, one), X_REAL((double)INFINITY), X_REAL((double)NAN));
    r = X_IF(X_TEST(SETT__LT, y, one), r, edge);
    return sett__with_sign(a, X_IF(X_TEST(SETT__LT, y, X_REAL(info[a->wide].tiny)), y, r), x);
}

/* log x of x > 0 to twice the precision, for powers:
 * log(1 + f) = 2 atanh(s), s = f/(2 + f), m in [sqrt(1/2), sqrt(2)). */
sett__two sett__log_two(const sett__expand_at *a, sett_val *x)
{
    const struct log_info *c = &info[a->wide];
    const struct base *base = &natural[a->wide];
    reduced v = reduce_any(a, x, a->wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
    sett__two d = sett__sum2(a, X_REAL(2), v.f);
    sett_val *r = X_DIV(X_REAL(1), d.hi), *s = X_MUL(v.f, r), *minus = X_NEG(s);
    sett_val *s_lo = X_MUL(r, X_FMA(minus, d.lo, X_FMA(minus, d.hi, v.f)));
    sett__two z = sett__mul2(a, s, s);
    z.lo = X_FMA(X_ADD(s, s), s_lo, z.lo);
    sett__two cube = sett__mul2(a, z.hi, s);
    cube.lo = X_FMA(z.hi, s_lo, X_FMA(z.lo, s, cube.lo));
    sett__two t = sett__sum2(a, X_REAL(c->two_thirds), X_FMA(z.hi, X_POLY(logs, z.hi), X_REAL(c->two_thirds_lo)));
    sett__two p = sett__mul2(a, cube.hi, t.hi);
    p.lo = X_FMA(cube.hi, t.lo, X_FMA(cube.lo, t.hi, p.lo));
    sett__two sum = sett__sum2(a, X_ADD(s, s), p.hi);
    sum.lo = X_ADD(sum.lo, X_ADD(X_ADD(s_lo, s_lo), p.lo));
    sett__two all = sett__sum2(a, X_MUL(v.k, X_REAL(base->two_hi)), sum.hi);
    all.lo = X_ADD(all.lo, X_FMA(v.k, X_REAL(base->two_lo), sum.lo));
    return sett__sum2(a, all.hi, all.lo);
}
