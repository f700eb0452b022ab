/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on C numbers and sett_args: static while it can be, so that one body serves
 * a constant K and a dynamic one. */
#include "value.h"
#include <math.h>

static bool compare_by(sett_binary_op op, bool less, bool equal, bool unordered)
{
    switch (op) {
    case SETT_LT: return less;
    case SETT_LE: return less || equal;
    case SETT_GT: return !less && !equal && !unordered;
    case SETT_GE: return !less && !unordered;
    case SETT_EQ: return equal;
    default: return !equal;
    }
}

static int64_t floor_div(int64_t x, int64_t y)
{
    int64_t q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}

/* False: overflow, division by zero, or a shift that is out of range. */
static bool on_ints(sett_binary_op op, int64_t x, int64_t y, int64_t *r)
{
    bool divides = y != 0 && !(x == INT64_MIN && y == -1);
    switch (op) {
    case SETT_ADD: return !__builtin_add_overflow(x, y, r);
    case SETT_SUB: return !__builtin_sub_overflow(x, y, r);
    case SETT_MUL: return !__builtin_mul_overflow(x, y, r);
    case SETT_FLOORDIV: return divides && (*r = floor_div(x, y), true);
    case SETT_MOD: return divides && (*r = x % y, true);
    case SETT_MIN: return *r = x < y ? x : y, true;
    case SETT_MAX: return *r = x > y ? x : y, true;
    case SETT_AND: return *r = x & y, true;
    case SETT_OR: return *r = x | y, true;
    case SETT_XOR: return *r = x ^ y, true;
    case SETT_SHL: return y >= 0 && y < 63 && !__builtin_mul_overflow(x, INT64_C(1) << y, r);
    case SETT_SHR: return y >= 0 && (*r = x >> (y < 63 ? y : 63), true);
    default: return *r = compare_by(op, x < y, x == y, false), true;
    }
}

static double least_of(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x < y || (x == y && signbit(x)) ? x : y;
}

/* False: there is no such operation on fractions. */
static bool on_floats(sett_binary_op op, double x, double y, double *r)
{
    switch (op) {
    case SETT_ADD: return *r = x + y, true;
    case SETT_SUB: return *r = x - y, true;
    case SETT_MUL: return *r = x * y, true;
    case SETT_DIV: return *r = x / y, true;
    case SETT_FLOORDIV: return *r = floor(x / y), true;
    case SETT_MOD: return *r = fmod(x, y), true;
    case SETT_MIN: return *r = least_of(x, y), true;
    case SETT_MAX: return *r = -least_of(-x, -y), true;
    default: return false;
    }
}

static bool is_number(sett_arg a)
{
    return (a.kind == SETT_INT || a.kind == SETT_FLOAT) && !a.path;
}

static double as_float(sett_arg a)
{
    return a.kind == SETT_INT ? (double)a.u.i : a.u.f;
}

static sett_arg on_numbers(const sett__ctx *c, sett_binary_op op, sett_arg x, sett_arg y)
{
    int64_t i;
    double f, a = as_float(x), b = as_float(y);
    if (x.kind == SETT_INT && y.kind == SETT_INT && op != SETT_DIV) {
        if (on_ints(op, x.u.i, y.u.i, &i))
            return sett_arg_i(i);
        sett__fail(c->b, c->site, c->func, SETT_E_RANGE, "there is no result of %lld and %lld in 63 bits", (long long)x.u.i, (long long)y.u.i);
        return sett__poison_arg(c->b);
    }
    if (op >= SETT_LT)
        return sett_arg_i(compare_by(op, a < b, a == b, isnan(a) || isnan(b)));
    if (on_floats(op, a, b, &f))
        return sett_arg_f(f);
    sett__fail(c->b, c->site, c->func, SETT_E_DTYPE, "there are no bitwise operations on %g and %g", a, b);
    return sett__poison_arg(c->b);
}

/* The algebra divides what is not negative; others need the rounding of a value's division. */
static bool is_natural(sett_arg a)
{
    return a.kind == SETT_INT ? a.u.i >= 0 : a.u.v->lo >= 0 || sett__dtype_kind((sett_dtype)a.u.v->dtype) == 'u';
}

/* Index arithmetic of the algebra where there is one: it carries divisibility and basis vectors. */
static sett_arg on_leaves(const sett__ctx *c, sett_binary_op op, sett_arg x, sett_arg y)
{
    if ((op == SETT_FLOORDIV || op == SETT_MOD) && !(is_natural(x) && is_natural(y)))
        return sett_arg_v(sett_binary_at(c->site, c->func, op, x, y));
    switch (op) {
    case SETT_ADD: return sett__add(c, x, y);
    case SETT_SUB: return sett__sub(c, x, y);
    case SETT_MUL: return sett__mul(c, x, y);
    case SETT_FLOORDIV: return sett__div(c, x, y);
    case SETT_MOD: return sett__rem(c, x, y);
    case SETT_MIN: return sett__min(c, x, y);
    case SETT_MAX: return sett__max(c, x, y);
    default: return sett_arg_v(sett_binary_at(c->site, c->func, op, x, y));
    }
}

static bool is_index(sett_arg a)
{
    return a.kind == SETT_INT || (a.kind == SETT_VALUE && a.u.v && a.u.v->scalar && !a.u.v->head.poison &&
        sett__dtype_is_int((sett_dtype)a.u.v->dtype));
}

static sett_arg index_arg(sett_site site, const char *func, sett_binary_op op, sett_arg x, sett_arg y)
{
    sett__ctx c = {sett__build_of(x), site, func};
    if (!c.b)
        c.b = sett__build_of(y);
    if (op < SETT_ADD || op > SETT_NE) {
        sett__fail(c.b, site, func, SETT_E_ARGUMENT, "%d is not an operation", (int)op);
        return sett__poison_arg(c.b);
    }
    if (is_number(x) && is_number(y))
        return on_numbers(&c, op, x, y);
    if (!c.b && !(is_index(x) && is_index(y)))
        return sett__poison_arg(NULL);
    if (!sett__use_arg(c.b, site, func, x) || !sett__use_arg(c.b, site, func, y))
        return sett__poison_arg(c.b);
    if (is_index(x) && is_index(y))
        return on_leaves(&c, op, x, y);
    sett_val *v = sett_binary_at(site, func, op, x, y);
    return c.b->error.status ? sett__poison_arg(c.b) : sett_arg_v(v);
}

sett_arg sett_index_at(sett_site site, const char *func, sett_binary_op op, sett_arg x, sett_arg y)
{
    sett_arg r = index_arg(site, func, op, x, y);
    if (r.kind != SETT_POISON || r.u.poisoned)
        return r;
    r.reserved = x.kind == SETT_POISON ? x.reserved : y.kind == SETT_POISON ? y.reserved : (uint16_t)(SETT__FROM_BINARY + (int)op);
    return r;
}
