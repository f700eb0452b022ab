/* SPDX-License-Identifier: Apache-2.0 */
/* The exponential's family.
 *
 * x = n ln 2 + r with |r| <= ln(2)/2; e^x = 2^n e^r. n is rounded by adding a number so large that the fraction falls
 * off; the bits of that sum hold n and the exponent's bias twice, so that one shift and one subtraction split 2^n in
 * two factors, of which each is normal: only the last product over- or underflows, and rounds once. Above each table
 * its greatest error, relative to the result; the coefficients are a weighted least-squares fit at Chebyshev nodes,
 * rounded one after another. */
#include "expand.h"

static const struct exp_info {
    double magic;       /* 1.5 * 2^mantissa bits + 2 * bias */
    int mantissa;
    double least, most; /* e^x is 0 below and infinite above, twice as far for e^x / 2 */
    double log2e, ln2_hi, ln2_lo;
    double most_less;     /* (e^x - 1)/2 is finite below, e^x - 1 infinite above */
    double least2, most2; /* 2^x is 0 below and infinite above */
    double tiny;          /* e^x - 1 is x to the last bit below */
} info[2] = {{0x1.8p23 + 254, 23, -104.5, 90, 0x1.715476p+0, 0x1.62e43p-1, -0x1.05c61p-29, 88.9, -151, 129, 0x1p-25},
    {0x1.8p52 + 2046, 52, -746, 711, 0x1.71547652b82fep+0, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 709.9, -1076, 1025, 0x1p-54}};

/* (e^r - 1 - r)/r^2 on [-ln(2)/2, ln(2)/2] */
/* 2^-28.0 */
static const double exp_32[] = {0x1.fffff8p-2, 0x1.55548ep-3, 0x1.555b96p-5, 0x1.123bdp-7, 0x1.685356p-10};
/* 2^-63.5 */
static const double exp_64[] = {0x1p-1, 0x1.555555555555cp-3, 0x1.5555555555541p-5, 0x1.111111110ea06p-7,
    0x1.6c16c16c1fa96p-10, 0x1.a01a01b43e05p-13, 0x1.a01a0176ecc5p-16, 0x1.71ddee86b1afp-19,
    0x1.27e540bab0d59p-22, 0x1.af6e5a95ada37p-26, 0x1.1ed9963f2d11p-29};
/* The same where the error counts relative to e^r - 1 */
/* 2^-31.0 */
static const double expm1_32[] = {0x1p-1, 0x1.555556p-3, 0x1.5554fp-5, 0x1.110fep-7, 0x1.6d436cp-10,
    0x1.a293dp-13};
/* 2^-64.7 */
static const double expm1_64[] = {0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555557p-5, 0x1.111111111130dp-7,
    0x1.6c16c16c1577dp-10, 0x1.a01a019f113c2p-13, 0x1.a01a01ab13c47p-16, 0x1.71de3e42b32efp-19,
    0x1.27e4d1444c324p-22, 0x1.ae56692003e87p-26, 0x1.1f83e166528b2p-29, 0x1.74161af754cf9p-33};
/* (2^r - 1)/r on [-1/2, 1/2] */
/* 2^-28.1 */
static const double exp2_32[] = {0x1.62e43p-1, 0x1.ebfbd8p-3, 0x1.c6af78p-5, 0x1.3b30bp-7, 0x1.5f0a66p-10,
    0x1.3f906cp-13};
/* 2^-59.5 */
static const double exp2_64[] = {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58ep-3, 0x1.c6b08d704a185p-5,
    0x1.3b2ab6fba50fep-7, 0x1.5d87fe788835cp-10, 0x1.430912f7a9eap-13, 0x1.ffcbfcde5e964p-17,
    0x1.62c02560d10fbp-20, 0x1.b5241c748619ep-24, 0x1.e4c37dbb8c8edp-28, 0x1.eb078dac7a012p-32,
    0x1.d48bab76c6261p-36};
/* (sinh(x)/x - 1)/x^2 over x^2 on [0, 1] */
/* 2^-31.3 */
static const double sinh_32[] = {0x1.555556p-3, 0x1.1110ecp-7, 0x1.a01adp-13, 0x1.76ac86p-19};
/* 2^-61.5 */
static const double sinh_64[] = {0x1.5555555555556p-3, 0x1.111111111104p-7, 0x1.a01a01a0318c3p-13,
    0x1.71de3a4058655p-19, 0x1.ae646b4b21f1bp-26, 0x1.6118e07ffded2p-33, 0x1.b52e61175a1d4p-41};

typedef struct reduced { sett_val *n, *low, *high; } reduced; /* n, and 2^(n + shift) = low * high */

/* n = x * factor, rounded */
static reduced split_exponent(const sett__expand_at *a, sett_val *x, double factor, int shift)
{
    const struct exp_info *k = &info[a->wide];
    sett_val *magic = X_REAL(k->magic + shift);
    sett_val *sum = factor != 1 ? X_FMA(x, X_REAL(factor), magic) : X_ADD(x, magic);
    sett_val *bits = X_BITS(sum), *half = X_SHR(bits, X_WHOLE(1));
    reduced r = {.n = X_SUB(sum, magic)};
    r.low = X_FLOAT(X_SHL(half, X_WHOLE(k->mantissa)));
    r.high = X_FLOAT(X_SHL(X_SUB(bits, half), X_WHOLE(k->mantissa)));
    return r;
}

static sett_val *clamp_to(const sett__expand_at *a, sett_val *x, double least, double most)
{
    return X_MIN(X_MAX(x, X_REAL(least)), X_REAL(most)); /* a NaN stays */
}

/* e^(x + more) * 2^shift; more NULL: 0. */
static sett_val *scaled_exp(const sett__expand_at *a, sett_val *x, sett_val *more, int shift)
{
    const struct exp_info *k = &info[a->wide];
    x = clamp_to(a, x, k->least, k->most);
    reduced s = split_exponent(a, x, k->log2e, shift);
    sett_val *r = X_FMA(s.n, X_REAL(-k->ln2_lo), X_FMA(s.n, X_REAL(-k->ln2_hi), x)), *one = X_REAL(1);
    if (more)
        r = X_ADD(r, more);
    sett_val *p = X_FMA(X_FMA(X_POLY(exp, r), r, one), r, one);
    return X_MUL(X_MUL(p, s.low), s.high);
}

sett_val *sett__exp(const sett__expand_at *a, sett_val *x)
{
    return scaled_exp(a, x, NULL, 0);
}

sett_val *sett__exp_two(const sett__expand_at *a, sett__two x)
{
    return scaled_exp(a, x.hi, x.lo, 0);
}

/* The product to about twice the precision before 2^n, so that the result rounds once. */
sett_val *sett__exp_times(const sett__expand_at *a, sett__two x, sett__two factor)
{
    const struct exp_info *k = &info[a->wide];
    sett_val *top = clamp_to(a, x.hi, k->least, k->most), *one = X_REAL(1);
    reduced s = split_exponent(a, top, k->log2e, 0);
    sett_val *near = X_FMA(s.n, X_REAL(-k->ln2_hi), top), *r = X_FMA(s.n, X_REAL(-k->ln2_lo), near);
    sett_val *lost = X_ADD(X_FMA(s.n, X_REAL(-k->ln2_lo), X_SUB(near, r)), x.lo);
    sett__two t = sett__sum2(a, r, lost);
    sett__two q = sett__sum2(a, t.hi, X_FMA(X_MUL(t.hi, t.hi), X_POLY(expm1, t.hi), X_FMA(t.lo, t.hi, t.lo)));
    sett__two p = sett__sum2(a, one, q.hi), v = sett__mul2(a, p.hi, factor.hi);
    v.lo = X_ADD(v.lo, X_FMA(X_ADD(p.lo, q.lo), factor.hi, X_MUL(p.hi, factor.lo)));
    return X_MUL(X_MUL(X_ADD(v.hi, v.lo), s.low), s.high);
}

sett_val *sett__exp2(const sett__expand_at *a, sett_val *x)
{
    const struct exp_info *k = &info[a->wide];
    x = clamp_to(a, x, k->least2, k->most2);
    reduced s = split_exponent(a, x, 1, 0);
    sett_val *r = X_SUB(x, s.n), *p = X_FMA(X_POLY(exp2, r), r, X_REAL(1));
    return X_MUL(X_MUL(p, s.low), s.high);
}

/* (e^x - 1)/2 as hi + lo: the half overflows no sooner than the result. */
static sett__two half_expm1(const sett__expand_at *a, sett_val *x)
{
    const struct exp_info *k = &info[a->wide];
    x = clamp_to(a, x, k->least, k->most_less);
    reduced s = split_exponent(a, x, k->log2e, -1);
    sett_val *near = X_FMA(s.n, X_REAL(-k->ln2_hi), x), *r = X_FMA(s.n, X_REAL(-k->ln2_lo), near);
    sett_val *lost = X_FMA(s.n, X_REAL(-k->ln2_lo), X_SUB(near, r));
    sett__two q = sett__sum2(a, r, X_FMA(X_MUL(r, r), X_POLY(expm1, r), lost)); /* e^r - 1 */
    sett_val *half = X_MUL(s.low, s.high);
    sett_val *most = X_SUB(half, X_REAL(0.5)), *cut = X_SUB(X_SUB(half, most), X_REAL(0.5));
    sett__two out = sett__sum2(a, most, X_MUL(half, q.hi));
    out.lo = X_ADD(X_FMA(half, q.lo, out.lo), cut);
    return out;
}

sett_val *sett__expm1(const sett__expand_at *a, sett_val *x)
{
    sett__two h = half_expm1(a, x);
    sett_val *r = X_ADD(h.hi, h.lo);
    return X_IF(X_TEST(SETT__LT, X_ABS(x), X_REAL(info[a->wide].tiny)), x, X_ADD(r, r));
}

/* h/(h + 1) with h = (e^2x - 1)/2, both as hi + lo. */
sett_val *sett__tanh(const sett__expand_at *a, sett_val *x)
{
    sett_val *y = X_MIN(X_ABS(x), X_REAL(a->wide ? 20 : 10)), *one = X_REAL(1); /* from there on it rounds to 1 */
    sett__two h = half_expm1(a, X_ADD(y, y));
    sett__two d = sett__sum2(a, X_MAX(h.hi, one), X_MIN(h.hi, one));
    sett_val *r = X_DIV(one, d.hi), *t = X_MUL(h.hi, r);
    sett_val *rest = X_FMA(X_NEG(t), d.hi, h.hi), *low = X_ADD(d.lo, h.lo);
    rest = X_ADD(rest, X_FMA(X_NEG(t), low, h.lo));
    sett_val *small = X_TEST(SETT__LT, y, X_REAL(info[a->wide].tiny));
    return X_IF(small, x, sett__with_sign(a, X_FMA(rest, r, t), x));
}

sett_val *sett__sinh(const sett__expand_at *a, sett_val *x)
{
    sett_val *y = X_ABS(x), *z = X_MUL(y, y), *half = scaled_exp(a, y, NULL, -1);
    sett_val *large = X_SUB(half, X_DIV(X_REAL(0.25), half));
    sett_val *small = X_FMA(X_MUL(y, z), X_POLY(sinh, z), y);
    return sett__with_sign(a, X_IF(X_TEST(SETT__LT, y, X_REAL(1)), small, large), x);
}

sett_val *sett__cosh(const sett__expand_at *a, sett_val *x)
{
    sett_val *half = scaled_exp(a, X_ABS(x), NULL, -1);
    return X_ADD(half, X_DIV(X_REAL(0.25), half));
}
