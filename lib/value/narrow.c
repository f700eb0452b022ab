/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of the types that are only stored. Through Float32 or Float16, which hold every
 * number of 8 bits and less; CONVERT has the steps that hardware has, the others are expansions
 * on the bits, the same on every engine. */
#include "expand.h"
#include <math.h>

/* Float64 to Float32, rounded to odd: the next rounding, to fewer bits, is then the only one. */
static sett_val *to_odd(const sett__expand_at *a, sett_val *x)
{
    sett_val *f = X_TO(x, SETT_F32), *back = X_TO(f, SETT_F64), *bits = X_1(SETT__BITCAST, SETT_U32, f), *one = X_U32(1);
    sett_val *more = X_TEST(SETT__GT, X_1(SETT__ABS, SETT_F64, back), X_1(SETT__ABS, SETT_F64, x));
    sett_val *even = X_TEST(SETT__EQ, X_AND(bits, one), X_U32(0));
    sett_val *fix = X_AND(even, X_TEST(SETT__NE, back, x));
    return X_1(SETT__BITCAST, SETT_F32, X_IF(fix, X_IF(more, X_SUB(bits, one), X_OR(bits, one)), bits));
}

/* An integer of 64 bits as one of the same magnitude or so that a Float64 holds: past 2^53 its lowest 12 bits become the odd
 * one above them, which decides a later rounding as they would have. */
sett_val *sett__odd_integer(const sett__expand_at *a, sett_val *x)
{
    sett_dtype d = (sett_dtype)x->dtype;
    sett_val *zero = sett__const_bits(a->b, a->site, d, 0), *low = sett__const_bits(a->b, a->site, d, 0xfff);
    sett_val *high = X_SHR(x, sett__const_bits(a->b, a->site, d, 53));
    sett_val *large = X_AND(X_TEST(SETT__NE, high, zero), X_TEST(SETT__NE, high, sett__const_bits(a->b, a->site, d, UINT64_MAX)));
    sett_val *sticky = X_IF(X_TEST(SETT__NE, X_AND(x, low), zero), sett__const_bits(a->b, a->site, d, 0x1000), zero);
    return X_IF(large, X_OR(X_AND(x, sett__const_bits(a->b, a->site, d, ~UINT64_C(0xfff))), sticky), x);
}

/* Rounded once in the end: what a Float32 does not hold is rounded to odd on the way. Of integers that matters to
 * f8E8M0FNU alone: past 2^24 the others have only their greatest number. */
static sett_val *single(const sett__expand_at *a, sett_val *x, sett_dtype to)
{
    sett_dtype d = (sett_dtype)x->dtype;
    if (to == SETT_F8E8M0FNU && sett__dtype_is_wide(d))
        x = sett__odd_wide(a, x);
    else if (to == SETT_F8E8M0FNU && sett__dtype_is_int(d) && sett_dtype_bits(d) >= 32)
        x = X_TO(sett_dtype_bits(d) == 64 ? sett__odd_integer(a, x) : x, SETT_F64);
    return x->dtype == SETT_F64 ? to_odd(a, x) : sett__to(a->b, a->site, x, SETT_F32);
}

/* e bits of exponent, m of mantissa, no infinity, no NaN: 2^(code - bias). */
static const struct format { int e, m, bias; } formats[] = {
    [SETT_F6E3M2FN] = {3, 2, 3}, [SETT_F6E2M3FN] = {2, 3, 1}, [SETT_F4E2M1FN] = {2, 1, 1}};

/* To nearest even, and past the greatest number that number; a NaN gives it too, as the hardware does. */
static sett_val *to_small(const sett__expand_at *a, sett_val *x, const struct format *f)
{
    sett_val *bits = X_1(SETT__BITCAST, SETT_U32, x), *mag = X_AND(bits, X_U32(0x7fffffff));
    sett_val *last = X_AND(X_SHR(mag, X_U32((uint32_t)(23 - f->m))), X_U32(1));
    sett_val *sum = X_ADD(X_ADD(mag, X_U32((UINT32_C(1) << (22 - f->m)) - 1)), last);
    sett_val *normal = X_SUB(X_SHR(sum, X_U32((uint32_t)(23 - f->m))), X_U32((uint32_t)(127 - f->bias) << f->m));
    sett_val *magic = X_REAL(ldexp(1, 24 - f->bias - f->m)); /* a sum with it rounds at the least subnormal number */
    sett_val *tiny = X_ADD(X_1(SETT__BITCAST, SETT_F32, mag), magic);
    tiny = X_SUB(X_1(SETT__BITCAST, SETT_U32, tiny), X_1(SETT__BITCAST, SETT_U32, magic));
    sett_val *q = X_IF(X_TEST(SETT__LT, mag, X_U32((uint32_t)(128 - f->bias) << 23)), tiny, normal);
    q = X_MIN(q, X_U32((UINT32_C(1) << (f->e + f->m)) - 1));
    sett_val *sign = X_SHL(X_SHR(bits, X_U32(31)), X_U32((uint32_t)(f->e + f->m)));
    sign = X_IF(X_TEST(SETT__NE, x, x), X_U32(0), sign);
    return X_OR(q, sign);
}

/* The bits at the place of Float32's are the number times a power of two, subnormal ones too. */
static sett_val *of_small(const sett__expand_at *a, sett_val *bits, const struct format *f)
{
    sett_val *mag = X_AND(bits, X_U32((UINT32_C(1) << (f->e + f->m)) - 1));
    sett_val *sign = X_SHL(X_SHR(bits, X_U32((uint32_t)(f->e + f->m))), X_U32(31));
    sett_val *x = X_1(SETT__BITCAST, SETT_F32, X_OR(X_SHL(mag, X_U32((uint32_t)(23 - f->m))), sign));
    return X_MUL(x, X_REAL(ldexp(1, 127 - f->bias)));
}

/* 2^(code - 127), up; zero is the least, infinity the greatest, what is negative or NaN is NaN. */
static sett_val *to_scale(const sett__expand_at *a, sett_val *x)
{
    sett_val *bits = X_1(SETT__BITCAST, SETT_U32, x), *mag = X_AND(bits, X_U32(0x7fffffff)), *zero = X_U32(0);
    sett_val *q = X_MIN(X_SHR(X_ADD(mag, X_U32(0x7fffff)), X_U32(23)), X_U32(0xfe));
    q = X_IF(X_TEST(SETT__LE, mag, X_U32(0x400000)), zero, q);
    sett_val *real = X_1(SETT__BITCAST, SETT_F32, bits), *valid = X_TEST(SETT__GE, real, X_REAL(0));
    return X_IF(valid, q, X_U32(0xff));
}

static sett_val *of_scale(const sett__expand_at *a, sett_val *bits)
{
    sett_val *u = X_IF(X_TEST(SETT__EQ, bits, X_U32(0)), X_U32(0x400000), X_SHL(bits, X_U32(23)));
    return X_1(SETT__BITCAST, SETT_F32, X_IF(X_TEST(SETT__EQ, bits, X_U32(0xff)), X_U32(0x7fffffff), u));
}

/* An arithmetic value of the same number. */
static sett_val *as_arithmetic(const sett__expand_at *a, sett_val *x)
{
    sett_dtype from = (sett_dtype)x->dtype;
    if (from == SETT_TF32)
        return X_1(SETT__BITCAST, SETT_F32, x);
    if (from == SETT_F8E4M3FN || from == SETT_F8E5M2)
        return X_TO(x, SETT_F16);
    sett_val *bits = X_1(SETT__BITCAST, SETT_U8, x);
    if (from == SETT_I4) { /* up, and down with the sign */
        sett_val *four = sett__const_bits(a->b, a->site, SETT_I8, 4);
        return X_SHR(X_SHL(X_1(SETT__BITCAST, SETT_I8, bits), four), four);
    }
    bits = X_TO(bits, SETT_U32);
    return from == SETT_F8E8M0FNU ? of_scale(a, bits) : of_small(a, bits, &formats[from]);
}

static sett_val *to_i4(const sett__expand_at *a, sett_val *x)
{
    if (sett__dtype_is_float((sett_dtype)x->dtype)) {
        x = X_MIN(X_TO(x, SETT_I8), sett__const_bits(a->b, a->site, SETT_I8, 7));
        x = X_MAX(x, sett__const_bits(a->b, a->site, SETT_I8, (uint64_t)-8));
    }
    return X_AND(sett__to(a->b, a->site, x, SETT_U8), sett__const_bits(a->b, a->site, SETT_U8, 15));
}

sett_val *sett__to_narrow(sett_build *b, sett_site site, sett_val *x, sett_dtype to)
{
    const sett__expand_at at = sett__at_of(b, site, SETT_F32), *a = &at;
    if (sett__dtype_kind((sett_dtype)x->dtype) == 's')
        x = as_arithmetic(a, x);
    if (sett__dtype_kind(to) != 's')
        return sett__to(b, site, x, to);
    if (to == SETT_TF32)
        return X_1(SETT__BITCAST, to, sett__to(b, site, x, SETT_F32));
    if (to == SETT_I4)
        return X_1(SETT__BITCAST, to, to_i4(a, x));
    x = single(a, x, to);
    if (to == SETT_F8E4M3FN || to == SETT_F8E5M2)
        return X_TO(x, to);
    return X_1(SETT__BITCAST, to, X_TO(to == SETT_F8E8M0FNU ? to_scale(a, x) : to_small(a, x, &formats[to]), SETT_U8));
}

/* ---- packed elements ------------------------------------------------------------------- */
/* Elements first, first + step, ... of v. */
static sett_val *every_nth(const sett__expand_at *a, const sett_val *v, uint32_t first, uint32_t step, uint32_t n)
{
    uint32_t *index = sett__new(a->b, n * sizeof *index);
    for (uint32_t i = 0; index && i < n; i++)
        index[i] = first + i * step;
    if (a->b->error.status)
        return &a->b->poison->val;
    return sett__val(a->b, sett__pick(a->b, a->site, v->id, index, n), sett_arg_i(n), false);
}

/* The first elements of the groups, then the second ones...: back in order. */
static sett_val *interleave(const sett__expand_at *a, sett_val *const *part, uint32_t parts, uint32_t groups)
{
    uint32_t id[8], n = parts * groups, *index = sett__new(a->b, n * sizeof *index);
    if (a->b->error.status)
        return &a->b->poison->val;
    for (uint32_t k = 0; k < parts; k++)
        id[k] = part[k]->id;
    for (uint32_t i = 0; i < n; i++)
        index[i] = i % parts * groups + i / parts;
    uint32_t all = sett__record(a->b, a->site,
        &(sett__emit){.code = SETT__PACK, .dtype = SETT_U8, .n = n, .n_args = (int)parts, .args = id});
    return sett__val(a->b, sett__pick(a->b, a->site, all, index, n), sett_arg_i(n), false);
}

/* Elements of `have` bits, a byte each, as elements of `want` bits: the same stream of bits, the lowest first. */
static sett_val *regroup(const sett__expand_at *a, const sett_val *v, uint32_t have, uint32_t want)
{
    uint32_t group = have;
    while (group % want)
        group += have;
    uint32_t in = group / have, out = group / want, groups = v->n / in;
    sett_val *from[8], *to[8];
    for (uint32_t i = 0; i < in; i++)
        from[i] = every_nth(a, v, i, in, groups);
    for (uint32_t t = 0; t < out; t++) {
        to[t] = NULL;
        for (uint32_t i = 0; i < in; i++) {
            int at = (int)(i * have) - (int)(t * want);
            if (at >= (int)want || at + (int)have <= 0)
                continue;
            sett_val *by = sett__const_bits(a->b, a->site, SETT_U8, (uint64_t)(at < 0 ? -at : at));
            sett_val *piece = at < 0 ? X_SHR(from[i], by) : X_SHL(from[i], by);
            to[t] = to[t] ? X_OR(to[t], piece) : piece;
        }
        to[t] = X_AND(to[t], sett__const_bits(a->b, a->site, SETT_U8, (UINT64_C(1) << want) - 1));
    }
    return interleave(a, to, out, groups);
}

static sett_val *as_type(const sett__expand_at *a, sett_val *v, sett_dtype d, uint32_t n)
{
    uint32_t id = sett__record(a->b, a->site, &(sett__emit){.code = SETT__BITCAST, .dtype = d, .n = n, .n_args = 1, .args = &v->id});
    return sett__val(a->b, id, sett_arg_i(n), false);
}

sett_val *sett__bitcast_packed(sett_build *b, sett_site site, sett_val *v, sett_dtype to, uint32_t n)
{
    const sett__expand_at at = sett__at_of(b, site, SETT_F32), *a = &at;
    uint32_t old = (uint32_t)sett_dtype_bits((sett_dtype)v->dtype), bits = (uint32_t)sett_dtype_bits(to);
    v = as_type(a, v, SETT_U8, old < 8 ? v->n : v->n * (old / 8));
    if (old != bits) {
        uint32_t have = old < 8 ? old : 8, want = bits < 8 ? bits : 8;
        v = have == want ? v : regroup(a, v, have, want);
    }
    return b->error.status ? v : as_type(a, v, to, n);
}
