/* SPDX-License-Identifier: Apache-2.0 */
/* Functions as expansions into IEEE and integer ops, for math*.c alone.
 *
 * Every engine gives the same bits: no step is left to a library. An expansion is written once
 * for Float32 and Float64, which differ in their tables. The X_ macros record its steps in the
 * order written, which C would leave open for arguments and keys would show; they use the `a` in
 * scope. */
#ifndef SETT_EXPAND_H
#define SETT_EXPAND_H
#include "value.h"

typedef struct sett__expand_at {
    sett_build *b;
    sett_site site;
    sett_dtype d, i; /* the float type, and the signed integer as wide */
    int wide;        /* 0: Float32, 1: Float64: the index of the tables */
} sett__expand_at;
typedef struct sett__two { sett_val *hi, *lo; } sett__two; /* a number as hi + lo, |lo| at most half an ulp of hi or so */
sett__expand_at sett__at_of(sett_build *, sett_site, sett_dtype);
sett_val *sett__expand_step(const sett__expand_at *, sett__code, sett_dtype, sett_val *x, sett_val *y, sett_val *z); /* NULL: no more */
sett_val *sett__real(const sett__expand_at *, double);    /* a constant of the float type */
sett_val *sett__whole(const sett__expand_at *, int64_t);  /* of the integer type */
sett_val *sett__poly(const sett__expand_at *, sett_val *x, const double *term, int n); /* term[0] + term[1] x + ..., by fma */
sett__two sett__sum2(const sett__expand_at *, sett_val *x, sett_val *y); /* exact, if x is 0 or |x| >= |y| */
sett__two sett__mul2(const sett__expand_at *, sett_val *x, sett_val *y); /* exact */
sett_val *sett__sign(const sett__expand_at *, sett_val *); /* its sign bit alone, as an integer */
/* The value with the sign bit of another. */
sett_val *sett__with_sign(const sett__expand_at *, sett_val *magnitude, sett_val *sign);
sett_val *sett__odd_integer(const sett__expand_at *, sett_val *); /* of 64 bits: one that a Float64 holds, and that rounds as it does; narrow.c */
sett_val *sett__odd_wide(const sett__expand_at *, sett_val *);    /* of 128 bits, as a Float64; wide_int.c */
/* A table of terms for each type: name_32 and name_64. */
#define X_POLY(name, x) \
    sett__poly(a, x, a->wide ? name##_64 : name##_32, (int)(a->wide ? SETT__COUNT(name##_64) : SETT__COUNT(name##_32)))
#define X_1(code, dtype, x) sett__expand_step(a, code, dtype, x, NULL, NULL)
#define X_2(code, dtype, x, y) X_2_(code, dtype, x, y, SETT_CAT(x_, __COUNTER__), SETT_CAT(y_, __COUNTER__))
#define X_2_(code, dtype, x, y, p, q) \
    __extension__({ sett_val *p = (x), *q = (y); sett__expand_step(a, code, dtype, p, q, NULL); })
#define X_3(code, x, y, z) X_3_(code, x, y, z, SETT_CAT(x_, __COUNTER__), SETT_CAT(y_, __COUNTER__), SETT_CAT(z_, __COUNTER__))
#define X_3_(code, x, y, z, p, q, r) \
    __extension__({ sett_val *p = (x), *q = (y), *r = (z); sett__expand_step(a, code, (sett_dtype)q->dtype, p, q, r); })
#define X_REAL(v) sett__real(a, v)
#define X_WHOLE(v) sett__whole(a, v)
#define X_U32(v) sett__const_bits(a->b, a->site, SETT_U32, v)
#define X_SAME(code, x, y) X_2(code, (sett_dtype)0, x, y) /* of x's type */
#define X_ADD(x, y) X_SAME(SETT__ADD, x, y)
#define X_SUB(x, y) X_SAME(SETT__SUB, x, y)
#define X_MUL(x, y) X_SAME(SETT__MUL, x, y)
#define X_DIV(x, y) X_SAME(SETT__DIV, x, y)
#define X_MIN(x, y) X_SAME(SETT__MIN, x, y)
#define X_MAX(x, y) X_SAME(SETT__MAX, x, y)
#define X_AND(x, y) X_SAME(SETT__AND, x, y)
#define X_OR(x, y) X_SAME(SETT__OR, x, y)
#define X_XOR(x, y) X_SAME(SETT__XOR, x, y)
#define X_SHL(x, y) X_SAME(SETT__SHL, x, y)
#define X_SHR(x, y) X_SAME(SETT__SHR, x, y)
#define X_TEST(code, x, y) X_2(code, SETT_BOOL, x, y)
#define X_FMA(x, y, z) X_3(SETT__FMA, x, y, z)
#define X_IF(c, x, y) X_3(SETT__SELECT, c, x, y)
#define X_NEG(x) X_1(SETT__NEG, a->d, x)
#define X_ABS(x) X_1(SETT__ABS, a->d, x)
#define X_SQRT(x) X_1(SETT__SQRT, a->d, x)
#define X_TO(x, dtype) X_1(SETT__CONVERT, dtype, x)
#define X_BITS(x) X_1(SETT__BITCAST, a->i, x)
#define X_FLOAT(x) X_1(SETT__BITCAST, a->d, x)
/* One argument: of the type of `a`; the tables of a function are in its file. */
typedef sett_val *sett__math_fn(const sett__expand_at *, sett_val *);
sett__math_fn sett__exp, sett__exp2, sett__expm1, sett__sinh, sett__cosh, sett__tanh; /* math_exp.c */
sett_val *sett__exp_two(const sett__expand_at *, sett__two);   /* e^(hi + lo) */
sett_val *sett__exp_times(const sett__expand_at *, sett__two x, sett__two factor); /* factor e^x */
sett__math_fn sett__ln, sett__log2, sett__log10, sett__log1p, sett__asinh, sett__acosh, sett__atanh; /* math_log.c */
sett__two sett__log_two(const sett__expand_at *, sett_val *);  /* log x of x > 0, to twice the precision */
sett__math_fn sett__sin, sett__cos, sett__tan;                       /* math_trig.c */
sett__math_fn sett__atan, sett__asin, sett__acos;                    /* math_arc.c */
sett_val *sett__atan2(const sett__expand_at *, sett_val *y, sett_val *x);
sett__math_fn sett__erf, sett__erfc;                                 /* math_erf.c */
sett__math_fn sett__rsqrt, sett__rcp, sett__cbrt, sett__round; /* math_root.c */
sett_val *sett__pow(const sett__expand_at *, sett_val *x, sett_val *y);     /* math_pow.c */
sett_val *sett__int_pow(const sett__ctx *, sett_val *x, sett_val *y); /* of integers */
#endif
