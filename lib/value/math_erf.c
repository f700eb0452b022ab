/* SPDX-License-Identifier: Apache-2.0 */
/* The error function and its complement. Above each table its greatest error, relative to the result. */
#include "expand.h"

/* erf(x)/x - 1 over x^2 on [0, 1] */
/* 2^-29.3 */
static const double erf_32[] = {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cfp-4, -0x1.b7f858p-6, 0x1.53ff92p-8,
    -0x1.a3c95cp-11, 0x1.48edeep-14};
/* 2^-56.6 */
static const double erf_64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a01p-2, 0x1.ce2f21a043a4cp-4,
    -0x1.b82ce312c3fa7p-6, 0x1.565bcd1705b84p-8, -0x1.c02db590329afp-11, 0x1.f9a35712997fdp-14,
    -0x1.f4d6525cf97adp-17, 0x1.ba20db9c24cd9p-20, -0x1.61c33716befd5p-23, 0x1.0e5fffdc11399p-26,
    -0x1.e14f4c86d42bep-30, 0x1.22775967eaeb5p-32, -0x1.0aaeda9ae27ecp-35};
/* log(1 - erf(x)) on [1, where erf rounds to 1]; absolute error times 1 - erf(x) */
/* 2^-35.6 */
static const double log_erfc_32[] = {0x1.bb878ap-13, -0x1.2133ecp+0, -0x1.4412bcp-1, -0x1.bd6becp-4,
    0x1.a1134p-6, -0x1.1b4b0ap-8, 0x1.f2f56cp-12, -0x1.ca964p-16, 0x1.a98542p-22};
/* 2^-62.3 */
static const double log_erfc_64[] = {-0x1.f4f45d5117e72p-26, -0x1.20dd7090c69fdp+0, -0x1.45f3295f08673p-1,
    -0x1.a4f2cd87370e9p-4, 0x1.39631c13df14fp-6, 0x1.a99614867cd5dp-13, -0x1.b746c6dee3fe6p-10,
    0x1.21f4609b40eb8p-11, 0x1.68d11c0992733p-16, -0x1.cf6ba6f4f5591p-14, 0x1.0f09d86a54b7ap-14,
    -0x1.96736f73bbb96p-16, 0x1.c6296ddc1cf73p-18, -0x1.896d47e477a69p-20, 0x1.0998317354d6ep-22,
    -0x1.138e26d0c52b4p-25, 0x1.a972a349fc4d2p-29, -0x1.ccd7e293baadfp-33, 0x1.38911f2f9b827p-37,
    -0x1.8f764942095eap-43};
/* (1 + 2 x) e^(x^2) (1 - erf(x)) over t = (x - 4)/(x + 4), from x = 0.46 to where 1 - erf(x) rounds to 0 */
/* 2^-24.8 */
static const double erfc_32[] = {0x1.3ba592p+0, -0x1.1df1a4p-3, 0x1.f7e64ap-7, 0x1.16e842p-4, -0x1.9dbfb4p-4,
    0x1.8040ccp-4, -0x1.101f36p-4, 0x1.2c4ef8p-5, -0x1.0bca0ep-6, 0x1.8e3534p-8, 0x1.c76d44p-12};
/* 2^-54.3 */
static const double erfc_64[] = {0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28ep-3, 0x1.f7f5df66fc8b2p-7,
    0x1.16ecefcfa5339p-4, -0x1.9ddb23c3e404p-4, 0x1.7fee004e1379ep-4, -0x1.0fb06dfead5e7p-4,
    0x1.3079edf64cf3cp-5, -0x1.09623873bf21bp-6, 0x1.49c6729bc2533p-8, -0x1.8d4aa898ac764p-11,
    -0x1.a1df3a580e205p-13, 0x1.3be13d9e035e2p-13, -0x1.99560e7c4c82fp-16, -0x1.78b27d22b6d3bp-17,
    0x1.7effdfafae5c2p-18, 0x1.443bc12b985d3p-22, -0x1.b874c47fffb1ap-21, 0x1.17c3221d9d372p-24,
    0x1.be8a1ceace5c9p-24, -0x1.8e3a85cd1005ep-27, -0x1.53dda6a4113fbp-27};

sett_val *sett__erf(const sett__expand_at *a, sett_val *x)
{
    sett_val *y = X_ABS(x), *one = X_REAL(1), *z = X_MUL(y, y);
    sett_val *small = X_FMA(y, X_POLY(erf, z), y);
    sett_val *most = X_REAL(a->wide ? 5.95 : 3.95), *top = X_MIN(y, most);
    const double *term = a->wide ? log_erfc_64 : log_erfc_32; /* its last step as hi + lo: half an ulp of 2 is felt */
    int n = (int)(a->wide ? SETT__COUNT(log_erfc_64) : SETT__COUNT(log_erfc_32));
    sett__two log = sett__mul2(a, top, sett__poly(a, top, term + 1, n - 1));
    sett_val *large = X_SUB(one, sett__exp_two(a, sett__sum2(a, log.hi, X_ADD(log.lo, X_REAL(term[0])))));
    return sett__with_sign(a, X_IF(X_TEST(SETT__LT, y, one), small, large), x);
}

sett_val *sett__erfc(const sett__expand_at *a, sett_val *x)
{
    sett_val *y = X_MIN(X_ABS(x), X_REAL(a->wide ? 28 : 10.6)), *four = X_REAL(4);
    sett_val *p = X_POLY(erfc, X_DIV(X_SUB(y, four), X_ADD(y, four)));
    sett_val *twice = X_ADD(y, y), *one = X_REAL(1);
    sett__two d = sett__sum2(a, X_MAX(twice, one), X_MIN(twice, one));
    sett_val *q = X_DIV(p, d.hi), *minus = X_NEG(q);
    sett_val *rest = X_DIV(X_FMA(minus, d.lo, X_FMA(minus, d.hi, p)), d.hi);
    sett__two square = sett__mul2(a, X_NEG(y), y);
    sett_val *r = sett__exp_times(a, square, (sett__two){q, rest});
    r = X_IF(X_TEST(SETT__LT, x, X_REAL(0)), X_SUB(X_REAL(2), r), r);
    /* 1 - x - x p: where the result is below 1/2, a rounded erf(x) would be felt twice */
    sett_val *hi = X_SUB(one, x), *lo = X_SUB(X_SUB(one, hi), x);
    sett_val *near = X_ADD(hi, X_FMA(X_NEG(x), X_POLY(erf, X_MUL(x, x)), lo));
    return X_IF(X_TEST(SETT__LT, y, X_REAL(0.75)), near, r);
}
