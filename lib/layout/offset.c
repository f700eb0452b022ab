/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets: sums with their constants on top, where an access takes them as its immediate part. */
#include "layout.h"

/* ---- offsets ------------------------------------------------------------------- */
sett_arg sett__peel(sett_build *b, sett_arg a, int64_t *constant)
{
    *constant = 0;
    if (a.kind == SETT_INT) {
        *constant = a.u.i;
        return sett_arg_i(0);
    }
    while (a.kind == SETT_VALUE && a.u.v->id < b->n_op) {
        const sett__op *op = &b->op[a.u.v->id];
        if (op->code != SETT__ADD || op->n_args != 2)
            break;
        const sett__op *x = &b->op[b->arg[op->args]], *y = &b->op[b->arg[op->args + 1]];
        uint32_t rest = x->code == SETT__CONST ? b->arg[op->args + 1] : b->arg[op->args];
        const sett__op *c = x->code == SETT__CONST ? x : y;
        int64_t k = sett__int_of_bits((sett_dtype)op->dtype, (uint64_t)c->imm);
        sett_val *v = b->val_of[rest];
        /* Only what is added: with k >= 0 the rest lies between 0 and the whole sum, so that a sum
         * that fits in its width has a rest that fits too. A promise on the sum alone keeps it whole. */
        if (c->code != SETT__CONST || k < 0 || *constant > INT64_MAX - k || !v || sett__gcd(v->div, k) < a.u.v->div)
            break;
        *constant += k;
        a = sett_arg_v(v->scalar ? sett__scalar_val(b, rest) : sett__val(b, rest, v->shape, false));
    }
    return a;
}

/* A scaled basis element v@m as the tuple that it stands for, as deep as `like`. */
static sett_arg basis_as_tuple(sett_build *b, sett_arg a, sett_arg like)
{
    if (!a.path || like.kind != SETT_NODE)
        return a;
    sett_arg *kid = sett__new(b, like.rank * sizeof *kid);
    unsigned at = (a.path & 15) - 1;
    for (unsigned i = 0; i < like.rank; i++)
        kid[i] = sett_arg_i(0);
    if (at < like.rank) {
        kid[at] = a;
        kid[at].path >>= 4;
    }
    return sett_arg_n(like.rank, kid);
}

static sett_arg add_leaves(const sett__ctx *c, sett_arg x, sett_arg y)
{
    int64_t kx, ky;
    if (sett__is_int(x, 0) || sett__is_int(y, 0)) /* most often: what is there has its constant on top already */
        return sett__is_int(x, 0) ? y : x;
    x = sett__peel(c->b, x, &kx);
    y = sett__peel(c->b, y, &ky);
    if (__builtin_add_overflow(kx, ky, &kx)) {
        sett__fail(c->b, c->site, c->func, SETT_E_RANGE, "the offset is past 2^63-1");
        return c->b->poison->arg;
    }
    sett_arg sum = sett__is_int(x, 0) ? y : sett__is_int(y, 0) ? x : sett__add(c, x, y);
    return kx ? sett__add(c, sum, sett_arg_i(kx)) : sum;
}

/* Constants end up on top, where accesses take them as their immediate part. */
sett_arg sett__add_offset(const sett__ctx *c, sett_arg x, sett_arg y)
{
    if (x.kind == SETT_POISON || y.kind == SETT_POISON)
        return c->b->poison->arg;
    if (x.kind != SETT_NODE && y.kind != SETT_NODE)
        return add_leaves(c, x, y);
    x = basis_as_tuple(c->b, x, y);
    y = basis_as_tuple(c->b, y, x);
    if (x.kind != SETT_NODE || y.kind != SETT_NODE) /* 0 beside a tuple: nothing moves there */
        return x.kind == SETT_NODE ? x : y;
    int rank = x.rank > y.rank ? x.rank : y.rank;
    sett_arg *kid = sett__new(c->b, (size_t)rank * sizeof *kid);
    for (int i = 0; i < rank; i++)
        kid[i] = i >= x.rank ? y.u.kid[i] : i >= y.rank ? x.u.kid[i] : sett__add_offset(c, x.u.kid[i], y.u.kid[i]);
    return sett_arg_n(rank, kid);
}

/* ---- parameters -------------------------------------------------------------------- */
/* Products of extents and strides of a wide parameter are formed in 64 bits from the start. */
sett_arg sett__widen(const sett__ctx *c, sett_arg a)
{
    if (a.kind == SETT_VALUE && sett_dtype_bits((sett_dtype)a.u.v->dtype) < 64) {
        a.u.v = sett__leaf_to(c, a.u.v, SETT_I64);
        return a;
    }
    if (a.kind != SETT_NODE)
        return a;
    sett_arg *kid = sett__new(c->b, a.rank * sizeof *kid);
    for (int i = 0; i < a.rank; i++)
        kid[i] = sett__widen(c, a.u.kid[i]);
    return sett_arg_n(a.rank, kid);
}

/* 32 bits unless it does not fit: index arithmetic stays narrow. */
sett_val *sett__arg_val(sett_build *b, sett_site site, sett_arg leaf)
{
    if (b->error.status)
        return &b->poison->val;
    if (leaf.kind == SETT_INT) {
        sett_dtype dtype = leaf.u.i >= INT32_MIN && leaf.u.i <= INT32_MAX ? SETT_I32 : SETT_I64;
        return sett__const_bits(b, site, dtype, (uint64_t)leaf.u.i);
    }
    if (leaf.kind == SETT_VALUE && sett__use_val(b, site, site.func, leaf.u.v)) {
        sett_val *v = leaf.u.v;
        SETT__FAIL_IF(b, site, site.func, !v->scalar || !sett__dtype_is_int((sett_dtype)v->dtype), &b->poison->val,
            SETT_E_DTYPE, "an index needs an integer scalar, not a value of %s", sett_dtype_name((sett_dtype)v->dtype));
        if (sett_dtype_bits((sett_dtype)v->dtype) >= 32)
            return v;
        return sett__leaf_to(&(sett__ctx){b, site, site.func}, v, SETT_I32);
    }
    if (sett__use_arg(b, site, site.func, leaf))
        sett__fail(b, site, site.func, SETT_E_ARGUMENT, "an integer or a scalar value is needed here");
    return &b->poison->val;
}
