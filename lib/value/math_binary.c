/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two arguments: which types they take, and what they compute in. */
#include "expand.h"

static sett_val *copysign_of(const sett__expand_at *a, sett_val *x, sett_val *y)
{
    return sett__with_sign(a, x, y);
}

static sett_val *no_nan(const sett__expand_at *a, sett__code code, sett_val *x, sett_val *y)
{
    sett_val *r = X_SAME(code, x, y);
    return X_IF(X_TEST(SETT__NE, x, x), y, X_IF(X_TEST(SETT__NE, y, y), x, r));
}

static sett_val *fmin_of(const sett__expand_at *a, sett_val *x, sett_val *y)
{
    return no_nan(a, SETT__MIN, x, y);
}

static sett_val *fmax_of(const sett__expand_at *a, sett_val *x, sett_val *y)
{
    return no_nan(a, SETT__MAX, x, y);
}

static const struct {
    sett_val *(*f)(const sett__expand_at *, sett_val *, sett_val *);
    bool single, integers; /* 16-bit floats go through Float32; integers, and Booleans as Int32, have another function */
} info[] = {
    [SETT_POW - SETT_POW] = {sett__pow, 1, 1}, [SETT_ATAN2 - SETT_POW] = {sett__atan2, 1, 0},
    [SETT_COPYSIGN - SETT_POW] = {copysign_of, 0, 0}, [SETT_FMIN - SETT_POW] = {fmin_of, 0, 1},
    [SETT_FMAX - SETT_POW] = {fmax_of, 0, 1},
};

bool sett__expands(sett_binary_op op, sett_dtype d)
{
    return sett__dtype_is_float(d) || info[op - SETT_POW].integers;
}

sett_val *sett__expand_binary(const sett__ctx *c, sett_binary_op op, sett_val *x, sett_val *y)
{
    sett_dtype d = (sett_dtype)x->dtype, in = info[op - SETT_POW].single && sett__dtype_class(d) == 'h' ? SETT_F32 : d;
    if (!sett__dtype_is_float(d) && op != SETT_POW)
        return sett__op2(c->b, c->site, op == SETT_FMIN ? SETT__MIN : SETT__MAX, 0, x, y);
    if (!sett__dtype_is_float(d))
        return sett__int_pow(c, x, y);
    const sett__expand_at a = sett__at_of(c->b, c->site, in);
    x = sett__to(c->b, c->site, x, in);
    y = sett__to(c->b, c->site, y, in);
    return c->b->error.status ? x : sett__to(c->b, c->site, info[op - SETT_POW].f(&a, x, y), d);
}
