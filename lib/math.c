/* SPDX-License-Identifier: Apache-2.0 */
/* Unary operations, and functions that are expansions into fma and integer ops: the same
 * bits on every engine, because each step is IEEE and no step is left to a library. */
#include "lib.h"

static sett_val *poison_of(sett_build *b)
{
    return b ? &b->poison->val : NULL;
}

sett_val *sett__unary(sett_build *b, sett_site site, sett__code code, sett_val *v)
{
    uint32_t id = sett__record(b, site,
        &(sett__emit){.code = code, .dtype = (sett_dtype)v->dtype, .n = v->n, .n_args = 1, .args = &v->id});
    return sett__val(b, id, v->shape, v->scalar);
}

typedef struct at { /* where the steps of an expansion are recorded */
    sett_build *b;
    sett_site site;
} at;

static sett_val *number(at a, sett_dtype d, double x)
{
    return sett__const_bits(a.b, a.site, d, sett__bits_of_float(d, x));
}

static sett_val *integer(at a, sett_dtype d, int64_t x)
{
    return sett__const_bits(a.b, a.site, d, sett__bits_of_int(d, x));
}

static sett_val *two(at a, sett__code code, sett_val *x, sett_val *y)
{
    return sett__op2(a.b, a.site, code, 0, x, y);
}

static sett_val *fma3(at a, sett_val *x, sett_val *y, sett_val *z)
{
    uint32_t id = sett__record(a.b, a.site,
        &(sett__emit){.code = SETT__FMA, .dtype = (sett_dtype)x->dtype, .n = x->n, .n_args = 3,
            .args = (const uint32_t[]){x->id, y->id, z->id}});
    return sett__val(a.b, id, x->shape, x->scalar);
}

static sett_val *bitcast(at a, sett_val *v, sett_dtype d)
{
    uint32_t id = sett__record(a.b, a.site,
        &(sett__emit){.code = SETT__BITCAST, .dtype = d, .n = v->n, .n_args = 1, .args = &v->id});
    return sett__val(a.b, id, v->shape, v->scalar);
}

/* ---- 2^x ------------------------------------------------------------------------ */
/* (2^r - 1)/r on [-1/2, 1/2], interpolated at Chebyshev nodes: 2.8e-10 and 1.2e-19 of 2^r. */
static const struct exp2_info {
    sett_dtype as_int;
    int mantissa, bias, terms;
    double least, most; /* 2^x is 0 below and infinite above: clamping keeps the exponents in reach */
    double term[12];
} exp2_f32 = {SETT_I32, 23, 127, 7, -151, 129,
    {0x1.62e43p-1, 0x1.ebfbep-3, 0x1.c6b0aap-5, 0x1.3b2a1cp-7, 0x1.5d6bb4p-10, 0x1.444p-13, 0x1.1098f8p-16}},
  exp2_f64 = {SETT_I64, 52, 1023, 12, -1076, 1025,
    {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c6p-5, 0x1.3b2ab6fba4e79p-7, 0x1.5d87fe78a3f9cp-10,
        0x1.430912f86b7dbp-13, 0x1.ffcbfc6da6ed1p-17, 0x1.62c02242b879cp-20, 0x1.b524ebd13a55fp-24,
        0x1.e4cf10dec0f59p-28, 0x1.e9ec1fcb69a7fp-32, 0x1.c4a29324a1038p-36}};

/* 2^k for an exponent that is in range. */
static sett_val *power(at a, const struct exp2_info *t, sett_val *k, sett_dtype d)
{
    sett_val *biased = two(a, SETT__ADD, k, integer(a, t->as_int, t->bias));
    return bitcast(a, two(a, SETT__SHL, biased, integer(a, t->as_int, t->mantissa)), d);
}

/* x = n + r: 2^r by the polynomial, then 2^n in two halves, so that only the last product can
 * over- or underflow and rounds once. NaN goes through min, max and the polynomial. */
static sett_val *exp2_expand(at a, sett_val *x, const struct exp2_info *t)
{
    sett_dtype d = (sett_dtype)x->dtype;
    x = two(a, SETT__MIN, two(a, SETT__MAX, x, number(a, d, t->least)), number(a, d, t->most));
    sett_val *n = sett__unary(a.b, a.site, SETT__RINT, x);
    sett_val *r = two(a, SETT__SUB, x, n);
    sett_val *sum = number(a, d, t->term[t->terms - 1]);
    for (int i = t->terms - 2; i >= 0; i--)
        sum = fma3(a, r, sum, number(a, d, t->term[i]));
    sum = fma3(a, r, sum, number(a, d, 1));
    sett_val *k = sett__to(a.b, a.site, n, t->as_int);
    sett_val *half = two(a, SETT__SHR, k, integer(a, t->as_int, 1));
    sett_val *low = power(a, t, half, d), *high = power(a, t, two(a, SETT__SUB, k, half), d);
    return two(a, SETT__MUL, two(a, SETT__MUL, sum, low), high);
}

static sett_val *exp2_of(at a, sett_val *x)
{
    return exp2_expand(a, x, x->dtype == SETT_F64 ? &exp2_f64 : &exp2_f32);
}

static sett_val *rcp_of(at a, sett_val *x)
{
    return two(a, SETT__DIV, number(a, (sett_dtype)x->dtype, 1), x);
}

static sett_val *rsqrt_of(at a, sett_val *x)
{
    return rcp_of(a, sett__unary(a.b, a.site, SETT__SQRT, x));
}

/* ---- the table --------------------------------------------------------------------- */
static const struct unary_info {
    sett__code code;
    const char *types;              /* letters of element classes, as in ops.def */
    bool single;                    /* 16-bit floats go through Float32 */
    sett_val *(*expand)(at, sett_val *);
} unary_info[] = {
    [SETT_NEG] = {SETT__NEG, "biuhfd", 0, NULL},
    [SETT_ABS] = {SETT__ABS, "biuhfd", 0, NULL},
    [SETT_NOT] = {SETT__NOT, "biu", 0, NULL},
    [SETT_SQRT] = {SETT__SQRT, "hfd", 0, NULL},
    [SETT_FLOOR] = {SETT__FLOOR, "hfd", 0, NULL},
    [SETT_CEIL] = {SETT__CEIL, "hfd", 0, NULL},
    [SETT_TRUNC] = {SETT__TRUNC, "hfd", 0, NULL},
    [SETT_ROUNDEVEN] = {SETT__RINT, "hfd", 0, NULL},
    [SETT_EXP2] = {SETT__N_CODES, "hfd", 1, exp2_of},
    [SETT_EXP2_APPROX] = {SETT__EX2A, "hf", 1, NULL},
    [SETT_LOG2_APPROX] = {SETT__LG2A, "hf", 1, NULL},
    [SETT_RCP_APPROX] = {SETT__RCPA, "hf", 1, NULL},
    [SETT_RSQRT_APPROX] = {SETT__RSQA, "hf", 1, NULL},
    [SETT_SIN_APPROX] = {SETT__SINA, "hf", 1, NULL},
    [SETT_COS_APPROX] = {SETT__COSA, "hf", 1, NULL},
    [SETT_TANH_APPROX] = {SETT__TANHA, "hf", 1, NULL},
    [SETT_RCP] = {SETT__N_CODES, "hfd", 1, rcp_of},
    [SETT_RSQRT] = {SETT__N_CODES, "hfd", 1, rsqrt_of},
};

static bool takes(const char *types, sett_dtype d)
{
    for (char c = sett__dtype_class(d); *types; types++)
        if (*types == c)
            return true;
    return false;
}

sett_val *sett_unary_at(sett_site site, const char *func, sett_unary_op op, sett_val *x)
{
    sett_build *b = x ? x->head.b : NULL;
    if (!sett__use_val(NULL, site, func, x))
        return poison_of(b);
    SETT__FAIL_IF(b, site, func, op < SETT_NEG || op > SETT_RSQRT, poison_of(b), SETT_E_ARGUMENT, "%d is not an operation", (int)op);
    sett_val *v = (sett_val *)(uintptr_t)sett__materialise(site, x);
    if (b->error.status)
        return poison_of(b);
    const struct unary_info *info = &unary_info[op];
    sett_dtype d = (sett_dtype)v->dtype;
    SETT__FAIL_IF(b, site, func, !takes(info->types, d), poison_of(b), SETT_E_DTYPE, "it does not take %s", sett_dtype_name(d));
    /* As in CuTe: in Int32 and back, a shaped Boolean is its own negative; a scalar one is refused. */
    if (op == SETT_NEG && d == SETT_BOOL) {
        SETT__FAIL_IF(b, site, func, v->scalar, poison_of(b), SETT_E_DTYPE, "it does not take %s", sett_dtype_name(d));
        return v;
    }
    if (op == SETT_ABS && (d == SETT_BOOL || sett__dtype_kind(d) == 'u'))
        return v;
    bool through = info->single && sett__dtype_class(d) == 'h';
    sett_val *in = through ? sett__to(b, site, v, SETT_F32) : v;
    if (b->error.status)
        return poison_of(b);
    sett_val *r = info->expand ? info->expand((at){b, site}, in) : sett__unary(b, site, info->code, in);
    return sett__to(b, site, r, d);
}
