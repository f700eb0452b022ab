/* SPDX-License-Identifier: Apache-2.0 */
/* Division by a multiply-high and a shift (Granlund and Montgomery 1994). Of a divisor d below 2^31, with l = ceil(log2
 * d) and M = ceil(2^(31+l) / d): M d exceeds 2^(31+l) by less than d <= 2^l, so that x M / 2^(31+l) exceeds x / d by
 * less than 1/d for every x below 2^31, and their floors are equal. M has 32 bits, the upper one always set: the launch
 * gives m = M - 2^31, which an Int32 holds, and the kernel adds x for the rest: x M >> 31+l is (mulhi(2x, m) + x) >> l.
 */
#include "value.h"

#define D \
    { \
        SETT__X_SYM, 0 \
    }
#define NUM(n) \
    { \
        SETT__X_CONST, n \
    }
#define DO(code) \
    { \
        SETT__X_##code, 0 \
    }
#define TWO_31 (INT64_C(1) << 31)
static const sett__xop itself[] = {D};
static const sett__xop shift_of[] = {D, DO(LOG2)};
static const sett__xop multiplier_of[] = {
    NUM(TWO_31), D, DO(LOG2), DO(SHL), D, DO(ADD), NUM(1), DO(SUB), D, DO(DIV), NUM(TWO_31), DO(SUB)};

static sett_val *derived_number(
    const sett__ctx *c, const sett__xop *rule, uint32_t n, sett_arg divisor, const char *name, unsigned number)
{
    sett__expr e;
    bool ok = !c->b->error.status && sett__put_in(c->b, rule, n, &divisor, 1, &e);
    SETT__FAIL_IF(
        c->b, c->site, c->func, !ok, &c->b->poison->val, SETT_E_LIMIT, "the divisor is too long an expression");
    return sett__derived(c, e, name, number);
}

/* A symbol of 32 bits is in the kernel already; others the launch computes, so that no division makes them. */
static sett_arg in_kernel(const sett__ctx *c, sett_arg divisor, unsigned number)
{
    const sett__op *op = &c->b->op[divisor.u.v->id];
    bool there = (op->code == SETT__SYM || op->code == SETT__SCALAR) && op->dtype == SETT_I32;
    return there ? divisor : sett_arg_v(derived_number(c, itself, SETT__COUNT(itself), divisor, "divisor", number));
}

static sett_fast_divmod poisoned(sett_build *b)
{
    return (sett_fast_divmod){b, sett__poison_arg(b), NULL, NULL};
}

sett_fast_divmod sett_fast_divmod_at(sett_site site, sett_build *b, sett_arg divisor)
{
    b = sett__given(b, site, "sett_make_fast_divmod");
    sett__ctx c = {b, site, "sett_make_fast_divmod"};
    sett__expr e;
    int64_t fixed;
    if (!b || b->error.status || !sett__use_arg(b, site, c.func, divisor))
        return poisoned(b);
    bool integer =
        !divisor.path && (divisor.kind == SETT_INT || (divisor.kind == SETT_VALUE && divisor.u.v->scalar &&
                                                          sett__dtype_is_int((sett_dtype)divisor.u.v->dtype)));
    SETT__FAIL_IF(b, site, c.func, !integer, poisoned(b), SETT_E_ARGUMENT, "a divisor is an integer, not %s",
        sett__arg_text(b, divisor));
    uint32_t n_code = b->sig.n_code;
    if (divisor.kind == SETT_VALUE && !sett__need_expr(&c, "a divisor", -1, divisor, &e))
        return poisoned(b);
    if (divisor.kind == SETT_VALUE && sett__expr_const(&b->sig, e, &fixed))
        divisor = sett_arg_i(fixed);
    b->sig.n_code = n_code;
    SETT__FAIL_IF(b, site, c.func, divisor.kind == SETT_INT && (divisor.u.i < 1 || divisor.u.i > INT32_MAX),
        poisoned(b), SETT_E_RANGE, "the divisor is %lld, it must be 1 to 2^31 - 1", (long long)divisor.u.i);
    if (divisor.kind == SETT_INT)
        return (sett_fast_divmod){b, divisor, NULL, NULL};
    unsigned number = b->sig.n_derived; /* not used before, if it is used now */
    sett_val *m = derived_number(&c, multiplier_of, SETT__COUNT(multiplier_of), divisor, "multiplier", number);
    sett_val *l = derived_number(&c, shift_of, SETT__COUNT(shift_of), divisor, "shift", number);
    sett_fast_divmod d = {b, in_kernel(&c, divisor, number), m, l};
    return b->error.status ? poisoned(b) : d;
}

/* The value's own facts do not follow from the ops that make it. */
static sett_arg bounded(sett_val *v, const sett_val *x, int64_t most)
{
    if (!v->scalar || v->id == x->id)
        return sett_arg_v(v);
    v->hi = v->hi > most ? most : v->hi;
    v->lo = v->lo < 0 ? 0 : v->lo;
    return sett_arg_v(v);
}

static sett_val *quotient(sett_build *b, sett_site site, sett_val *x, const sett_fast_divmod *d)
{
    sett_val *one = sett__const_bits(b, site, SETT_U32, 1), *half = sett__const_bits(b, site, SETT_U64, 32);
    sett_val *most = sett__const_bits(b, site, SETT_U32, 31); /* the shift is below 32, which so is seen */
    sett_val *ux = sett__to(b, site, x, SETT_U32),
             *m = sett_bitcast_at(site, d->multiplier, SETT_U32); /* extends by zeros: a product of 32 bits */
    sett_val *l = sett__op2(b, site, SETT__AND, 0, sett__to(b, site, d->shift, SETT_U32), most);
    sett_val *twice = sett__to(b, site, sett__op2(b, site, SETT__SHL, 0, ux, one), SETT_U64);
    sett_val *product = sett__op2(b, site, SETT__MUL, 0, twice, sett__to(b, site, m, SETT_U64));
    sett_val *high = sett__to(b, site, sett__op2(b, site, SETT__SHR, 0, product, half), SETT_U32);
    sett_val *sum = sett__op2(b, site, SETT__ADD, 0, high, ux);
    return sett__to(b, site, sett__op2(b, site, SETT__SHR, 0, sum, l), SETT_I32);
}

static sett_quot_rem bad_quot_rem(sett_build *b)
{
    sett_arg p = sett__poison_arg(b);
    return (sett_quot_rem){p, p};
}

static sett_quot_rem divide(const sett__ctx *c, sett_val *x, const sett_fast_divmod *d)
{
    sett_build *b = c->b;
    bool fixed = d->divisor.kind == SETT_INT;
    sett_val *by = sett__arg_val(b, c->site, d->divisor);
    sett_val *q = fixed ? sett__op2(b, c->site, SETT__DIV, true, x, by) : quotient(b, c->site, x, d);
    sett_val *r = fixed ? sett__op2(b, c->site, SETT__REM, true, x, by)
                        : sett__op2(b, c->site, SETT__SUB, 0, x, sett__op2(b, c->site, SETT__MUL, 0, q, by));
    if (b->error.status)
        return bad_quot_rem(b);
    return (sett_quot_rem){bounded(q, x, x->scalar ? x->hi : INT32_MAX), bounded(r, x, by->hi - 1)};
}

sett_quot_rem sett_divmod_at(sett_site site, sett_arg x, sett_fast_divmod d)
{
    sett_build *b = d.build ? sett__home(d.build) : sett__build_of(x);
    sett__ctx c = {b, site, "sett_divmod"};
    SETT__FAIL_IF(b, site, c.func, d.build && b != d.build, bad_quot_rem(b), SETT_E_STALE, "the divisor belongs to a build that has ended");
    bool fixed = d.divisor.kind == SETT_INT;
    if (x.kind == SETT_INT && fixed && d.divisor.u.i > 0 && x.u.i >= 0)
        return (sett_quot_rem){sett_arg_i(x.u.i / d.divisor.u.i), sett_arg_i(x.u.i % d.divisor.u.i)};
    if (!b || !sett__use_arg(b, site, c.func, x) || !sett__use_arg(b, site, c.func, d.divisor) ||
        (!fixed && (!sett__use_val(b, site, c.func, d.multiplier) || !sett__use_val(b, site, c.func, d.shift))))
        return bad_quot_rem(b);
    SETT__FAIL_IF(b, site, c.func, fixed && d.divisor.u.i < 1, bad_quot_rem(b), SETT_E_ARGUMENT,
        "the divisor was not made by sett_make_fast_divmod");
    bool integer = !x.path && (x.kind == SETT_INT || (x.kind == SETT_VALUE && x.u.v->dtype == SETT_I32));
    SETT__FAIL_IF(
        b, site, c.func, !integer, bad_quot_rem(b), SETT_E_DTYPE, "the dividend is an Int32, not %s", sett__arg_text(b, x));
    bool outside = x.kind == SETT_INT ? x.u.i < 0 || x.u.i > INT32_MAX : x.u.v->scalar && x.u.v->hi < 0;
    SETT__FAIL_IF(
        b, site, c.func, outside, bad_quot_rem(b), SETT_E_RANGE, "the dividend is 0 to 2^31 - 1, not %s", sett__arg_text(b, x));
    return divide(&c, x.kind == SETT_INT ? sett__arg_val(b, site, x) : x.u.v, &d);
}
