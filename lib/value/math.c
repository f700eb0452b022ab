/* SPDX-License-Identifier: Apache-2.0 */
/* Unary operations: an op each, or an expansion. */
#include "expand.h"
#include <math.h>

sett_val *sett__unary(sett_build *b, sett_site site, sett__code code, sett_val *v)
{
    uint32_t id = sett__record(b, site,
        &(sett__emit){.code = code, .dtype = (sett_dtype)v->dtype, .n = v->n, .n_args = 1, .args = &v->id});
    return sett__val(b, id, v->shape, v->scalar);
}

/* What a number is, told by its bits: no NaN is needed to compare with. */
static sett_val *class_test(const sett__expand_at *a, sett_val *x, sett__code code, sett_val *bound)
{
    return X_TEST(code, X_ABS(x), bound);
}

static sett_val *infinity_of(const sett__expand_at *a)
{
    return X_REAL((double)INFINITY);
}

static sett_val *is_nan(const sett__expand_at *a, sett_val *x)
{
    return X_TEST(SETT__NE, x, x);
}

static sett_val *is_inf(const sett__expand_at *a, sett_val *x)
{
    return class_test(a, x, SETT__EQ, infinity_of(a));
}

static sett_val *is_finite(const sett__expand_at *a, sett_val *x)
{
    return class_test(a, x, SETT__LT, infinity_of(a));
}

static sett_val *is_normal(const sett__expand_at *a, sett_val *x)
{
    double least = a->d == SETT_F64 ? 0x1p-1022 : a->d == SETT_F16 ? 0x1p-14 : 0x1p-126;
    return X_AND(is_finite(a, x), class_test(a, x, SETT__GE, X_REAL(least)));
}

/* The hardware has powers and logarithms of two. */
static sett_val *exp_approx(const sett__expand_at *a, sett_val *x)
{
    return X_1(SETT__EX2A, a->d, X_MUL(x, X_REAL(0x1.715476p+0)));
}

static sett_val *log_approx(const sett__expand_at *a, sett_val *x)
{
    return X_MUL(X_1(SETT__LG2A, a->d, x), X_REAL(0x1.62e43p-1));
}

static sett_val *log10_approx(const sett__expand_at *a, sett_val *x)
{
    return X_MUL(X_1(SETT__LG2A, a->d, x), X_REAL(0x1.344136p-2));
}

/* Right at 0 and infinity, too, whose reciprocals are each other. */
static sett_val *sqrt_approx(const sett__expand_at *a, sett_val *x)
{
    return X_1(SETT__RCPA, a->d, X_1(SETT__RSQA, a->d, x));
}

static sett_val *tan_approx(const sett__expand_at *a, sett_val *x)
{
    sett_val *s = X_1(SETT__SINA, a->d, x);
    return X_DIV(s, X_1(SETT__COSA, a->d, x));
}

/* ---- the table --------------------------------------------------------------------- */
static const struct unary_info {
    sett__code code;
    const char *types;              /* letters of element classes, as in ops.def */
    bool single;                    /* 16-bit floats go through Float32 */
    sett__math_fn *expand;
} unary_info[] = {
    [SETT_NEG] = {SETT__NEG, "biuwhfd", 0, NULL},
    [SETT_ABS] = {SETT__ABS, "biuwhfd", 0, NULL},
    [SETT_NOT] = {SETT__NOT, "biuw", 0, NULL},
    [SETT_POPC] = {SETT__POPC, "iu", 0, NULL},
    [SETT_CLZ] = {SETT__CLZ, "iu", 0, NULL},
    [SETT_BREV] = {SETT__BREV, "iu", 0, NULL},
    [SETT_SQRT] = {SETT__SQRT, "hfd", 0, NULL},
    [SETT_FLOOR] = {SETT__FLOOR, "hfd", 0, NULL},
    [SETT_CEIL] = {SETT__CEIL, "hfd", 0, NULL},
    [SETT_TRUNC] = {SETT__TRUNC, "hfd", 0, NULL},
    [SETT_ROUNDEVEN] = {SETT__RINT, "hfd", 0, NULL},
    [SETT_EXP2_APPROX] = {SETT__EX2A, "hf", 1, NULL},
    [SETT_EXP2_APPROX_FTZ] = {SETT__EX2F, "hf", 1, NULL},
    [SETT_LOG2_APPROX] = {SETT__LG2A, "hf", 1, NULL},
    [SETT_RCP_APPROX] = {SETT__RCPA, "hf", 1, NULL},
    [SETT_RSQRT_APPROX] = {SETT__RSQA, "hf", 1, NULL},
    [SETT_SIN_APPROX] = {SETT__SINA, "hf", 1, NULL},
    [SETT_COS_APPROX] = {SETT__COSA, "hf", 1, NULL},
    [SETT_TANH_APPROX] = {SETT__TANHA, "hf", 1, NULL},
#define EXPANDED(name, types, single, f) [SETT_##name] = {SETT__N_CODES, types, single, f},
    EXPANDED(EXP_APPROX, "hf", 1, exp_approx) EXPANDED(LOG_APPROX, "hf", 1, log_approx)
    EXPANDED(LOG10_APPROX, "hf", 1, log10_approx) EXPANDED(TAN_APPROX, "hf", 1, tan_approx)
    EXPANDED(SQRT_APPROX, "hf", 1, sqrt_approx)
    EXPANDED(ISNAN, "hfd", 0, is_nan) EXPANDED(ISINF, "hfd", 0, is_inf)
    EXPANDED(ISFINITE, "hfd", 0, is_finite) EXPANDED(ISNORMAL, "hfd", 0, is_normal)
#define ACCURATE(name, f) EXPANDED(name, "hfd", 1, sett__##f)
    ACCURATE(EXP2, exp2) ACCURATE(RCP, rcp) ACCURATE(RSQRT, rsqrt) ACCURATE(ROUND, round) ACCURATE(CBRT, cbrt)
    ACCURATE(EXP, exp) ACCURATE(EXPM1, expm1) ACCURATE(SINH, sinh) ACCURATE(COSH, cosh) ACCURATE(TANH, tanh)
    ACCURATE(LOG, ln) ACCURATE(LOG2, log2) ACCURATE(LOG10, log10) ACCURATE(LOG1P, log1p)
    ACCURATE(ASINH, asinh) ACCURATE(ACOSH, acosh) ACCURATE(ATANH, atanh)
    ACCURATE(SIN, sin) ACCURATE(COS, cos) ACCURATE(TAN, tan) ACCURATE(ASIN, asin) ACCURATE(ACOS, acos)
    ACCURATE(ATAN, atan) ACCURATE(ERF, erf) ACCURATE(ERFC, erfc)
#undef ACCURATE
#undef EXPANDED
};

static bool takes_type(const char *types, sett_dtype d)
{
    for (char c = sett__dtype_class(d); *types; types++)
        if (*types == c)
            return true;
    return false;
}

sett_val *sett_unary_at(sett_site site, const char *func, sett_unary_op op, sett_val *x)
{
    sett_build *b = sett__home(x);
    if (!sett__use_val(NULL, site, func, x))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, site, func, op < SETT_NEG || op >= (int)SETT__COUNT(unary_info), sett__poison_val(b), SETT_E_ARGUMENT, "%d is not an operation", (int)op);
    sett_val *v = (sett_val *)(uintptr_t)sett__materialise(site, x);
    if (b->error.status)
        return sett__poison_val(b);
    const struct unary_info *info = &unary_info[op];
    sett_dtype d = (sett_dtype)v->dtype;
    char types[SETT__TYPES_TEXT];
    SETT__FAIL_IF(b, site, func, !takes_type(info->types, d), sett__poison_val(b), SETT_E_DTYPE, "it takes %s, not %s: sett_to converts",
        sett__types_text(info->types, types), sett_dtype_name(d));
    /* As in CuTe: in Int32 and back, a shaped Boolean is its own negative; a scalar one is refused. */
    if (op == SETT_NEG && d == SETT_BOOL) {
        SETT__FAIL_IF(b, site, func, v->scalar, sett__poison_val(b), SETT_E_DTYPE,
            "it does not take a scalar %s: sett_not negates it, sett_to makes a number of it", sett_dtype_name(d));
        return v;
    }
    if (op == SETT_ABS && (d == SETT_BOOL || sett__dtype_kind(d) == 'u'))
        return v;
    bool through = info->single && sett__dtype_class(d) == 'h';
    sett_val *in = through ? sett__to(b, site, v, SETT_F32) : v;
    if (b->error.status)
        return sett__poison_val(b);
    const sett__expand_at a = sett__at_of(b, site, (sett_dtype)in->dtype);
    sett_val *r = info->expand ? info->expand(&a, in) : sett__unary(b, site, info->code, in);
    const sett__ctx c = {b, site, func};
    return r->dtype == SETT_BOOL ? sett__asked(&c, r, sett_arg_v(x), SETT_ALL) : sett__to(b, site, r, d);
}

void sett_sincos_at(sett_site site, const char *func, sett_val *x, bool approx, sett_val **s, sett_val **c)
{
    sett_build *b = sett__home(x);
    SETT__FAIL_IF(b, site, func, b && (!s || !c), , SETT_E_ARGUMENT, "there is no place for %s", s ? "the cosine" : "the sine");
    sett_val *sine = sett_unary_at(site, func, approx ? SETT_SIN_APPROX : SETT_SIN, x);
    sett_val *cosine = sett_unary_at(site, func, approx ? SETT_COS_APPROX : SETT_COS, x);
    if (s && c)
        *s = sine, *c = cosine;
}
