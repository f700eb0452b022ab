/* SPDX-License-Identifier: Apache-2.0 */
#include "activation.h"
#include <stdint.h>

#define LOG2_E 1.44269504088896341

/* What is multiplied falls to 0 with |x|, so an infinite one is taken as this large, of which 2^y below is 0. */
static sett_val *size_of(sett_val *x, double most)
{
    return sett_min(sett_abs(x), most); /* a NaN stays */
}

/* x times a polynomial. */
static sett_val *polynomial(sett_val *x, const double *term, int n)
{
    sett_val *sum = sett_fma(x, term[n - 1], term[n - 2]);
    for (int i = n - 3; i >= 0; i--)
        sum = sett_fma(sum, x, term[i]);
    return sum;
}

/* 2^(x y) / 2^lower is scale (1 + rest q(rest)), q a polynomial. */
typedef struct split {
    sett_val *scale, *rest;
} split;

/* 1 and q, so that all of it is within 2^-23.2. */
static const double exp2_term[] = {1, 0x1.62e426p-1, 0x1.ebf9b6p-3, 0x1.c6b9eap-5, 0x1.3cec2ep-7, 0x1.5ac8f8p-10};
enum { EXP2_TERMS = sizeof exp2_term / sizeof *exp2_term };

/* Of x y from lower - 127.5 to 0; up to lower - 126.5 the scale is 0. The sum with 1.5 * 2^23 has the nearest integer in its last bits, which become
 * an exponent: 127 there is 1. */
static split split_power(sett_val *x, sett_arg y, int lower)
{
    enum { ONE = 127, FRACTION = 23 };
    const double shift = 0x1.8p23 + ONE - lower;
    sett_val *sum = sett_fma(x, y, shift), *whole = sett_sub(sum, shift);
    return (split){.scale = sett_bitcast(sett_shl(sett_bitcast(sum, SETT_I32), FRACTION), SETT_F32), .rest = sett_fma(x, y, sett_neg(whole))};
}

static sett_val *power(sett_val *x, sett_arg y, int lower)
{
    const split s = split_power(x, y, lower);
    return sett_mul(polynomial(s.rest, exp2_term, EXP2_TERMS), s.scale);
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
    return times_logistic(x, size, power(size, sett_arg_f(-LOG2_E), 0));
}

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)) */
sett_val *sett__gelu_tanh(sett_val *x)
{
    const double by = -2 * 0.79788456080286536 * LOG2_E, most = 10.03;
    sett_val *size = size_of(x, most);
    return times_logistic(x, size, power(size, SETT_A(sett_fma(sett_mul(size, size), by * 0.044715, by)), 0));
}

/* erf is -1 from there on, and an infinite x would be multiplied by 0. */
static sett_val *precise_gelu(sett_val *x)
{
    const double least = -16;
    x = sett_max(x, least);
    return sett_mul(sett_mul(x, 0.5), sett_add(sett_erf(sett_mul(x, 0.70710678118654752)), 1.0));
}

/* max(x, 0) - |x| erfc(|x| / sqrt 2) / 2. The polynomial is the logarithm to base 2 of erfc(x / sqrt 2), divided by x, fitted so that erfc / 2 is
 * within 4e-8, and where it is less than that within a third of itself. */
sett_val *sett__gelu(sett_val *x, bool precise)
{
    static const double term[] = {-0x1.26af12p+0, -0x1.d62faep-2, -0x1.af4e96p-5, 0x1.df6f16p-8, -0x1.6adffp-12, -0x1.9575a8p-14, 0x1.62c7e4p-16, -0x1.b6927ap-20, 0x1.8011f2p-25};
    const double most = 13;
    if (precise)
        return precise_gelu(x);
    sett_val *size = size_of(x, most);
    return sett_fma(sett_neg(size), power(size, SETT_A(polynomial(size, term, sizeof term / sizeof *term)), 1), sett_max(x, 0.0));
}

/* (1 - t) / (1 + t), t = exp(-2 |x|), as near to 0 as elsewhere: 1 - t is 1 - scale, which is exact, less the rest. From 10 on it is 1. */
sett_val *sett__quick_tanh(sett_val *x)
{
    const double most = 10;
    const split s = split_power(size_of(x, most), sett_arg_f(-2 * LOG2_E), 0);
    sett_val *rest = sett_mul(s.rest, polynomial(s.rest, exp2_term + 1, EXP2_TERMS - 1)), *less = sett_fma(sett_neg(s.scale), rest, sett_sub(1.0, s.scale));
    sett_val *sign = sett_and(sett_bitcast(x, SETT_I32), INT32_MIN), *size = sett_mul(less, reciprocal(sett_sub(2.0, less)));
    return sett_bitcast(sett_or(sett_bitcast(size, SETT_I32), sign), SETT_F32);
}
