/* SPDX-License-Identifier: Apache-2.0 */
/* Roots, the reciprocal and rounding. */
#include "expand.h"
#include <math.h>

sett_val *sett__rcp(const sett__expand_at *a, sett_val *x)
{
    return X_DIV(X_REAL(1), x);
}

/* y = 1/s with s = sqrt(x), then y less what is wrong with it: with 1 - s y = g and s^2 - x = e,
 * 1/sqrt(x) = y (1 + g + e y^2/2). Subnormal x are raised, so that e does not vanish. */
sett_val *sett__rsqrt(const sett__expand_at *a, sett_val *x)
{
    sett_val *small = X_TEST(SETT__LT, x, X_REAL(a->wide ? 0x1p-900 : 0x1p-80)), *one = X_REAL(1);
    sett_val *w = X_IF(small, X_MUL(x, X_REAL(a->wide ? 0x1p200 : 0x1p80)), x);
    sett_val *s = X_SQRT(w), *y = X_DIV(one, s), *g = X_FMA(X_NEG(s), y, one), *e = X_FMA(s, s, X_NEG(w));
    sett_val *more = X_FMA(X_MUL(X_MUL(e, X_REAL(0.5)), y), y, g), *better = X_FMA(y, more, y);
    sett_val *r = X_MUL(better, X_IF(small, X_REAL(a->wide ? 0x1p100 : 0x1p40), one));
    sett_val *plain = X_AND(X_TEST(SETT__GT, x, X_REAL(0)), X_TEST(SETT__LT, x, X_REAL((double)INFINITY)));
    return X_IF(plain, r, y);
}

/* r = x^(-1/3) starts from a third of the exponent (3 % off) and gains threefold digits a step; then
 * y = x r^2, less (y^3 - x)/(3 y^2). */
sett_val *sett__cbrt(const sett__expand_at *a, sett_val *x)
{
    sett_val *z = X_ABS(x), *small = X_TEST(SETT__LT, z, X_REAL(a->wide ? 0x1p-1022 : 0x1p-126)), *one = X_REAL(1);
    sett_val *w = X_IF(small, X_MUL(z, X_REAL(a->wide ? 0x1p54 : 0x1p24)), z);
    sett_val *third = X_DIV(X_BITS(w), X_WHOLE(3));
    sett_val *r = X_FLOAT(X_SUB(X_WHOLE(a->wide ? 0x553eee4feaaaaaab : 0x54a21d2a), third));
    for (int i = 0; i < 2 + a->wide; i++) {
        sett_val *e = X_FMA(X_MUL(X_NEG(w), X_MUL(r, r)), r, one);
        r = X_FMA(X_MUL(r, e), X_FMA(e, X_REAL(2.0 / 9), X_REAL(1.0 / 3)), r);
    }
    sett_val *square = X_MUL(r, r), *y = X_MUL(w, square);
    sett__two y2 = sett__mul2(a, y, y);
    sett_val *e = X_FMA(y2.lo, y, X_FMA(y2.hi, y, X_NEG(w)));
    y = X_FMA(X_MUL(e, X_REAL(-1.0 / 3)), square, y);
    y = X_MUL(y, X_IF(small, X_REAL(a->wide ? 0x1p-18 : 0x1p-8), one));
    sett_val *plain = X_AND(X_TEST(SETT__GT, z, X_REAL(0)), X_TEST(SETT__LT, z, X_REAL((double)INFINITY)));
    return X_IF(plain, sett__with_sign(a, y, x), x);
}

/* Halves away from zero. */
sett_val *sett__round(const sett__expand_at *a, sett_val *x)
{
    sett_val *t = X_1(SETT__TRUNC, a->d, x), *away = X_TEST(SETT__GE, X_ABS(X_SUB(x, t)), X_REAL(0.5));
    sett_val *y = X_ABS(t);
    return sett__with_sign(a, X_IF(away, X_ADD(y, X_REAL(1)), y), x);
}
