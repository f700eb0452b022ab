/* SPDX-License-Identifier: Apache-2.0 */
#include "activation.h"
#include <stdint.h>

#define LOG2_E 1.44269504088896341

/* What is multiplied falls to 0 with |x|, so an infinite one is taken as this large, of which 2^y below is 0. */
static sett_val *size_of(sett_val *x, double most)
{
    return sett_min(sett_abs(x), most); /* a NaN stays */
}

/* A polynomial of x, from the constant on. */
static sett_val *polynomial(sett_val *x, const double *term, int n)
{
    sett_val *sum = sett_fma(x, term[n - 1], term[n - 2]);
    for (int i = n - 3; i >= 0; i--)
        sum = sett_fma(sum, x, term[i]);
    return sum;
}

/* 2^(x y) is scale (1 + rest q(rest)), q a polynomial. */
typedef struct split {
    sett_val *scale, *rest;
} split;

/* 1 and q, so that all of it is within 2^-23.2. */
static const double exp2_term[] = {1, 0x1.62e426p-1, 0x1.ebf9b6p-3, 0x1.c6b9eap-5, 0x1.3cec2ep-7, 0x1.5ac8f8p-10};
enum { EXP2_TERMS = sizeof exp2_term / sizeof *exp2_term };

/* Of x y from -127.5 to 0; up to -126.5 the scale is 0. The sum with 1.5 * 2^23 has the nearest integer in its last bits, which become
 * an exponent: 127 there is 1. */
static split split_power(sett_val *x, sett_arg y)
{
    enum { ONE = 127, FRACTION = 23 };
    const double shift = 0x1.8p23 + ONE;
    sett_val *sum = sett_fma(x, y, shift), *whole = sett_sub(sum, shift);
    return (split){.scale = sett_bitcast(sett_shl(sett_bitcast(sum, SETT_I32), FRACTION), SETT_F32), .rest = sett_fma(x, y, sett_neg(whole))};
}

static sett_val *power(sett_val *x, sett_arg y)
{
    const split s = split_power(x, y);
    return sett_mul(polynomial(s.rest, exp2_term, EXP2_TERMS), s.scale);
}

sett_val *sett__exp_below(sett_val *x)
{
    const double end = 88; /* of which the scale is 0 */
    return power(sett_fmin(x, end), sett_arg_f(-LOG2_E));
}

/* 1 / x of x from 1 to 2: a parabola that is within 1/99, whose error e is then raised to the fourth power. */
static sett_val *reciprocal(sett_val *x)
{
    sett_val *r = sett_fma(sett_fma(x, 32.0 / 99, -144.0 / 99), x, 210.0 / 99), *e = sett_fma(sett_neg(x), r, 1.0);
    r = sett_fma(r, e, r);
    return sett_fma(r, sett_mul(e, e), r);
}

/* x times the logistic function of u, which has x's sign: x / (1 + t) where x is positive, and else x t / (1 + t). size is |x|, t is exp(-|u|). As one formula
 * it is max(x, 0) - |x| t / (1 + t), which loses no digits: one of the two terms is 0, or the second is at most half of the first. */
static sett_val *times_logistic(sett_val *x, sett_val *size, sett_val *t)
{
    return sett_fma(sett_neg(size), sett_mul(t, reciprocal(sett_add(t, 1.0))), sett_max(x, 0.0));
}

sett_val *sett__silu(sett_val *x)
{
    const double most = 88;
    sett_val *size = size_of(x, most);
    return times_logistic(x, size, power(size, sett_arg_f(-LOG2_E)));
}

/* Gelu is max(x, 0) - |x| fall(|x|): fall is erfc(|x| / sqrt 2) / 2 or, by tanh, 1 / (1 + exp(2 u)). As a polynomial of |x|, within a 32nd of what rounding to D's
 * type leaves. Each step counts: an operation more for each element of D takes 0.35 % of a product of 4096^3 on an H200. From `end` on it is 0:
 * the constant is what makes the steps give that, to the last bit. */
typedef struct fall {
    int n;
    double end, term[10];
} fall;
enum { COARSE /* for D of 8 bits of precision or less: within 2^-13 */, FINE /* for f16: within 2^-16 */ };
static const fall by_erf[] = {
    [COARSE] = {8, 3.75, {0x1.ffe348p-2, -0x1.94e49ap-2, -0x1.3103bap-6, 0x1.a2ae6p-4, -0x1.ee2ab4p-6, -0x1.4bfa56p-12, 0x1.4bf50ep-10, -0x1.272f6ap-13}},
    [FINE] = {10, 4.3125, {0x1.00019ap-1, -0x1.9925f8p-2, 0x1.5b9788p-8, 0x1.908562p-5, 0x1.e02d8ep-6, -0x1.3172e6p-5, 0x1.dd6c2ep-7, -0x1.777548p-9, 0x1.2f5c76p-12, -0x1.924d1ep-17}},
};
static const fall by_tanh[] = {
    [COARSE] = {8, 3.75, {0x1.ffe3a2p-2, -0x1.94deb2p-2, -0x1.37cb48p-6, 0x1.a9ee38p-4, -0x1.06fd96p-5, 0x1.2b50a8p-11, 0x1.1bce68p-10, -0x1.093604p-13}},
    [FINE] = {10, 4.25, {0x1.000186p-1, -0x1.9904b4p-2, 0x1.206dbcp-8, 0x1.a6361cp-5, 0x1.b3cb76p-6, -0x1.276006p-5, 0x1.d5441cp-7, -0x1.75fb48p-9, 0x1.328fb4p-12, -0x1.9d587ep-17}},
};

static sett_val *falling(sett_val *x, const fall of[], sett_dtype d)
{
    const fall *f = &of[d == SETT_F16 ? FINE : COARSE];
    sett_val *size = size_of(x, f->end);
    return sett_fma(sett_neg(size), polynomial(size, f->term, f->n), sett_max(x, 0.0));
}

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)) */
sett_val *sett__gelu_tanh(sett_val *x, sett_dtype d)
{
    const double by = -2 * 0.79788456080286536 * LOG2_E, most = 10.03;
    if (d != SETT_F32)
        return falling(x, by_tanh, d);
    sett_val *size = size_of(x, most);
    return times_logistic(x, size, power(size, SETT_A(sett_fma(sett_mul(size, size), by * 0.044715, by))));
}

/* erf is -1 from `least` on, and an infinite x would be multiplied by 0. */
sett_val *sett__gelu(sett_val *x, sett_dtype d)
{
    const double least = -16;
    if (d != SETT_F32)
        return falling(x, by_erf, d);
    x = sett_max(x, least);
    return sett_mul(sett_mul(x, 0.5), sett_add(sett_erf(sett_mul(x, 0.70710678118654752)), 1.0));
}

/* (1 - t) / (1 + t), t = exp(-2 |x|), as near to 0 as elsewhere: 1 - t is 1 - scale, which is exact, less the rest. From 10 on it is 1. */
sett_val *sett__quick_tanh(sett_val *x)
{
    const double most = 10;
    const split s = split_power(size_of(x, most), sett_arg_f(-2 * LOG2_E));
    sett_val *rest = sett_mul(s.rest, polynomial(s.rest, exp2_term + 1, EXP2_TERMS - 1)), *less = sett_fma(sett_neg(s.scale), rest, sett_sub(1.0, s.scale));
    sett_val *sign = sett_and(sett_bitcast(x, SETT_I32), INT32_MIN), *size = sett_mul(less, reciprocal(sett_sub(2.0, less)));
    return sett_bitcast(sett_or(sett_bitcast(size, SETT_I32), sign), SETT_F32);
}
