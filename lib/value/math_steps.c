/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that expansions are made of. */
#include "expand.h"

sett__expand_at sett__at_of(sett_build *b, sett_site site, sett_dtype d)
{
    int bits = sett_dtype_bits(d);
    return (sett__expand_at){b, site, d, bits == 64 ? SETT_I64 : bits == 32 ? SETT_I32 : SETT_I16, bits == 64};
}

sett_val *sett__expand_step(const sett__expand_at *a, sett__code code, sett_dtype dtype, sett_val *x, sett_val *y, sett_val *z)
{
    sett_val *in[3] = {x, y, z}, *shaped = x;
    uint32_t arg[3];
    int n = 0;
    for (; n < 3 && in[n]; n++) {
        arg[n] = in[n]->id;
        if (in[n]->n > shaped->n || (shaped->scalar && !in[n]->scalar))
            shaped = in[n];
    }
    if (a->b->error.status)
        return &a->b->poison->val;
    uint32_t id = sett__record(a->b, a->site,
        &(sett__emit){.code = code, .dtype = dtype ? dtype : (sett_dtype)x->dtype, .n = shaped->n, .n_args = n, .args = arg});
    return sett__val(a->b, id, shaped->shape, shaped->scalar);
}

sett_val *sett__real(const sett__expand_at *a, double x)
{
    return sett__const_bits(a->b, a->site, a->d, sett__bits_of_float(a->d, x));
}

sett_val *sett__whole(const sett__expand_at *a, int64_t x)
{
    return sett__const_bits(a->b, a->site, a->i, sett__bits_of_int(a->i, x));
}

sett_val *sett__poly(const sett__expand_at *a, sett_val *x, const double *term, int n)
{
    sett_val *sum = X_REAL(term[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = X_FMA(x, sum, X_REAL(term[i]));
    return sum;
}

sett__two sett__sum2(const sett__expand_at *a, sett_val *x, sett_val *y)
{
    sett_val *hi = X_ADD(x, y);
    return (sett__two){hi, X_ADD(X_SUB(x, hi), y)};
}

sett__two sett__mul2(const sett__expand_at *a, sett_val *x, sett_val *y)
{
    sett_val *hi = X_MUL(x, y);
    return (sett__two){hi, X_FMA(x, y, X_NEG(hi))};
}

sett_val *sett__sign(const sett__expand_at *a, sett_val *x)
{
    return X_AND(X_BITS(x), X_WHOLE(INT64_MIN >> (64 - sett_dtype_bits(a->d))));
}

sett_val *sett__with_sign(const sett__expand_at *a, sett_val *magnitude, sett_val *sign)
{
    sett_val *low = X_WHOLE(INT64_MAX >> (64 - sett_dtype_bits(a->d)));
    return X_FLOAT(X_OR(X_AND(X_BITS(magnitude), low), sett__sign(a, sign)));
}
