/* SPDX-License-Identifier: Apache-2.0 */
/* Arcs. Above each table its greatest error, relative to the result. */
#include "expand.h"

static const struct arc_info { double half_hi, half_lo, pi_hi, pi_lo; } info[2] = {
    {0x1.921fb6p+0, -0x1.777a5cp-25, 0x1.921fb6p+1, -0x1.777a5cp-24},
    {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53}};

/* (atan(y)/y - 1)/y^2 over y^2 on [0, 1] */
/* 2^-28.2 */
static const double atan_32[] = {-0x1.55553ap-2, 0x1.9991p-3, -0x1.24177ap-3, 0x1.c0317ep-4, -0x1.5709bap-4,
    0x1.d6de14p-5, -0x1.f722e6p-6, 0x1.5d871ap-7, -0x1.c7dc84p-10};
/* 2^-60.0 */
static const double atan_64[] = {-0x1.555555555554bp-2, 0x1.99999999989ecp-3, -0x1.249249244e624p-3,
    0x1.c71c71b42921ep-4, -0x1.745d15aa95715p-4, 0x1.3b1399f76a62dp-4, -0x1.111022223aed6p-4,
    0x1.e1d3b3d6b079ap-5, -0x1.aed647841f2b5p-5, 0x1.84a5179bb6cccp-5, -0x1.5ef774f9b165dp-5,
    0x1.389d4833585fep-5, -0x1.0bd8afd699f58p-5, 0x1.aa5f6b2ef2068p-6, -0x1.2e9fe27007627p-6,
    0x1.6ec7a75abe657p-7, -0x1.6a7518c22cdp-8, 0x1.14dd17213b6e2p-9, -0x1.3003f47f860dcp-11,
    0x1.a87f7709c94cap-14, -0x1.19e6ea6748fdap-17};
/* (asin(y)/y - 1)/y^2 over y^2 on [0, 1/4] */
/* 2^-27.5 */
static const double asin_32[] = {0x1.5555cap-3, 0x1.3301a4p-4, 0x1.7481d8p-5, 0x1.8c1492p-6, 0x1.5976p-5};
/* 2^-55.8 */
static const double asin_64[] = {0x1.555555555538dp-3, 0x1.333333336e69p-4, 0x1.6db6db42ae621p-5,
    0x1.f1c72c21a1dbp-6, 0x1.6e89f6cb027a1p-6, 0x1.1c6bb83cd1fadp-6, 0x1.c701142f78b7fp-7, 0x1.8eaccfc3784d9p-7,
    0x1.ac8f9791cd138p-8, 0x1.3f721f3ed88c8p-6, -0x1.090934ec70e09p-6, 0x1.052986a088daep-5};

static sett_val *atan_series(const sett__expand_at *a, sett_val *y) /* atan of 0..1 */
{
    sett_val *z = X_MUL(y, y);
    return X_FMA(X_MUL(y, z), X_POLY(atan, z), y);
}

/* hi + lo - x */
static sett_val *sum_less(const sett__expand_at *a, double hi, double lo, sett_val *x)
{
    return X_SUB(X_REAL(hi), X_SUB(x, X_REAL(lo)));
}

/* atan(y) = pi/2 - atan(1/y) */
sett_val *sett__atan(const sett__expand_at *a, sett_val *x)
{
    const struct arc_info *k = &info[a->wide];
    sett_val *y = X_ABS(x), *one = X_REAL(1), *far = X_TEST(SETT__GT, y, one);
    sett_val *r = atan_series(a, X_IF(far, X_DIV(one, y), y));
    return sett__with_sign(a, X_IF(far, sum_less(a, k->half_hi, k->half_lo, r), r), x);
}

/* The arc of the lesser over the greater, turned to where it belongs. Equal ones, both infinite or zero too, make 1 or 0. */
sett_val *sett__atan2(const sett__expand_at *a, sett_val *y, sett_val *x)
{
    const struct arc_info *k = &info[a->wide];
    sett_val *u = X_ABS(x), *v = X_ABS(y), *most = X_MAX(u, v), *least = X_MIN(u, v), *zero = X_REAL(0);
    sett_val *same = X_IF(X_TEST(SETT__EQ, most, zero), zero, X_REAL(1));
    sett_val *r = atan_series(a, X_IF(X_TEST(SETT__EQ, most, least), same, X_DIV(least, most)));
    r = X_IF(X_TEST(SETT__GT, v, u), sum_less(a, k->half_hi, k->half_lo, r), r);
    sett_val *left = X_TEST(SETT__LT, X_BITS(x), X_WHOLE(0));
    return sett__with_sign(a, X_IF(left, sum_less(a, k->pi_hi, k->pi_lo, r), r), y);
}

/* Of y = |x| > 1/2 the arc of s = sqrt((1 - y)/2): asin(y) = pi/2 - 2 asin(s). NaN past 1. */
typedef struct chord { sett_val *far, *s, *more; } chord; /* asin(s) = s + more, s = |x| if not far */

static chord chord_of(const sett__expand_at *a, sett_val *x)
{
    sett_val *y = X_ABS(x), *half = X_REAL(0.5), *far = X_TEST(SETT__GT, y, half);
    sett_val *z = X_IF(far, X_FMA(X_NEG(y), half, half), X_MUL(y, y)), *s = X_IF(far, X_SQRT(z), y);
    return (chord){far, s, X_MUL(X_MUL(s, z), X_POLY(asin, z))};
}

sett_val *sett__asin(const sett__expand_at *a, sett_val *x)
{
    const struct arc_info *k = &info[a->wide];
    chord c = chord_of(a, x);
    sett__two far = sett__sum2(a, X_REAL(k->half_hi), X_NEG(X_ADD(c.s, c.s)));
    sett_val *low = X_SUB(far.lo, X_SUB(X_ADD(c.more, c.more), X_REAL(k->half_lo)));
    return sett__with_sign(a, X_IF(c.far, X_ADD(far.hi, low), X_ADD(c.s, c.more)), x);
}

/* acos(x) = 2 asin(s) if far right, pi - 2 asin(s) if far left, else pi/2 -+ asin(|x|) */
sett_val *sett__acos(const sett__expand_at *a, sett_val *x)
{
    const struct arc_info *k = &info[a->wide];
    chord c = chord_of(a, x);
    sett_val *left = X_TEST(SETT__LT, x, X_REAL(0)), *r = X_ADD(c.s, c.more), *twice = X_ADD(r, r);
    sett_val *far = X_IF(left, sum_less(a, k->pi_hi, k->pi_lo, twice), twice);
    sett__two near = sett__sum2(a, X_REAL(k->half_hi), X_IF(left, c.s, X_NEG(c.s)));
    sett_val *more = X_IF(left, c.more, X_NEG(c.more));
    return X_IF(c.far, far, X_ADD(near.hi, X_ADD(near.lo, X_ADD(more, X_REAL(k->half_lo)))));
}
