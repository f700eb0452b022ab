/* SPDX-License-Identifier: Apache-2.0 */
/* Powers: of floats e^(y log x) with the logarithm to twice the precision, of integers by squaring. */
#include "expand.h"
#include <math.h>

/* What C says of the edges (C11 F.10.4.4); |x| is neither 0 nor 1 nor infinite in `r`. */
static sett_val *pow_edges(const sett__expand_at *a, sett_val *x, sett_val *y, sett_val *r)
{
    sett_val *zero = X_REAL(0), *one = X_REAL(1), *endless = X_REAL((double)INFINITY), *z = X_ABS(x);
    sett_val *is_inf = X_TEST(SETT__EQ, z, endless), *is_end = X_OR(is_inf, X_TEST(SETT__EQ, z, zero));
    sett_val *grows = X_XOR(is_inf, X_TEST(SETT__LT, y, zero));
    r = X_IF(is_end, X_IF(grows, endless, zero), r);
    r = X_IF(X_TEST(SETT__EQ, z, one), one, r);
    sett_val *half = X_MUL(y, X_REAL(0.5)), *whole = X_TEST(SETT__EQ, X_1(SETT__TRUNC, a->d, y), y);
    sett_val *odd = X_AND(whole, X_TEST(SETT__NE, X_1(SETT__TRUNC, a->d, half), half));
    sett_val *nan = X_REAL((double)NAN), *below = X_AND(X_TEST(SETT__LT, x, zero), X_TEST(SETT__LT, z, endless));
    r = X_IF(X_AND(below, X_1(SETT__NOT, SETT_BOOL, whole)), nan, r);
    r = X_IF(odd, sett__with_sign(a, r, x), r);
    r = X_IF(X_OR(X_TEST(SETT__NE, x, x), X_TEST(SETT__NE, y, y)), nan, r);
    return X_IF(X_OR(X_TEST(SETT__EQ, x, one), X_TEST(SETT__EQ, y, zero)), one, r);
}

sett_val *sett__pow(const sett__expand_at *a, sett_val *x, sett_val *y)
{
    sett__two l = sett__log_two(a, X_ABS(x)), p = sett__mul2(a, y, l.hi);
    p.lo = X_FMA(y, l.lo, p.lo);
    sett_val *inside = X_TEST(SETT__LT, X_ABS(p.hi), X_REAL(0x1p12)); /* else all is 0 or infinite, and lo may be NaN */
    p.lo = X_IF(inside, p.lo, X_REAL(0));
    return pow_edges(a, x, y, sett__exp_two(a, p));
}

/* Modulo 2^width; a negative power is 1/x^|y| truncated, so 0 but for x = 1 and -1, which the bits of y modulo 2^width
 * get right. */
sett_val *sett__int_pow(const sett__ctx *c, sett_val *x, sett_val *y)
{
    sett_dtype d = (sett_dtype)x->dtype;
    const sett__expand_at at = {.b = c->b, .site = c->site, .d = d, .i = d}, *a = &at;
    sett_val *one = X_WHOLE(1), *zero = X_WHOLE(0), *r = one, *power = x;
    for (int bit = 0; bit < sett_dtype_bits(d) && !c->b->error.status; bit++) {
        sett_val *mask = bit < 64 ? X_WHOLE((int64_t)(UINT64_C(1) << bit)) : X_SHL(one, X_WHOLE(bit));
        sett_val *set = X_TEST(SETT__NE, X_AND(y, mask), zero);
        r = X_IF(set, X_MUL(r, power), r);
        power = X_MUL(power, power);
    }
    if (sett__dtype_kind(d) == 'u')
        return r;
    sett_val *unit = X_OR(X_TEST(SETT__EQ, x, one), X_TEST(SETT__EQ, x, X_WHOLE(-1)));
    return X_IF(X_OR(unit, X_TEST(SETT__GE, y, zero)), r, zero);
}
