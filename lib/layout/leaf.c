/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on the leaves of tuples: static where both operands are, recorded where
 * one is dynamic. What is known of a dynamic leaf (a divisor, a range) is carried
 * along, because widths of accesses and merges of modes are proven from it. */
#include "layout.h"
#include <stdlib.h>
#include <string.h>

typedef struct facts {
    int64_t div, lo, hi; /* div 0: the number is zero */
} facts;

static facts facts_of(sett_arg a)
{
    if (a.kind == SETT_VALUE)
        return (facts){a.u.v->div, a.u.v->lo, a.u.v->hi};
    return (facts){sett__gcd(a.u.i, 0), a.u.i, a.u.i};
}

int64_t sett__leaf_div(sett_arg a)
{
    return a.kind == SETT_INT || a.kind == SETT_VALUE ? facts_of(a).div : 1;
}

bool sett__divides(sett_arg a, sett_arg b)
{
    return a.kind == SETT_INT && a.u.i && sett__leaf_div(b) % a.u.i == 0;
}

/* What both a leaf and anything else must be to take part in arithmetic. */
static bool check_leaf(const sett__ctx *c, sett_arg a)
{
    if (a.kind == SETT_INT || a.kind == SETT_POISON)
        return true;
    if (a.kind == SETT_VALUE && a.u.v->scalar && sett__dtype_is_int((sett_dtype)a.u.v->dtype))
        return true;
    if (a.kind == SETT_VALUE)
        sett__bad(c, SETT_E_DTYPE, "a dynamic index must be an integer scalar, not %s%s",
            sett_dtype_name((sett_dtype)a.u.v->dtype), a.u.v->scalar ? "" : " with a shape");
    else if (a.kind == SETT_FLOAT)
        sett__bad(c, SETT_E_DTYPE, "%g is not an integer", a.u.f);
    else
        sett__bad(c, SETT_E_RANK, "an integer is needed, not %s", c->b ? sett__arg_text(c->b, a) : "a tuple");
    return false;
}

/* True when the operation must not go on: then *out is what to return. */
static bool must_stop(const sett__ctx *c, sett_arg a, sett_arg b, sett_arg *out)
{
    bool bad = !check_leaf(c, a) || !check_leaf(c, b);
    if (a.path | b.path) {
        sett__bad(c, SETT_E_ARGUMENT, "a scaled basis element is not a number");
        bad = true;
    }
    *out = sett__poison_arg(c->b);
    return bad || a.kind == SETT_POISON || b.kind == SETT_POISON;
}

/* ---- recording --------------------------------------------------------------------- */

static bool is_wide(const sett_val *v)
{
    return v->dtype == SETT_I64;
}

static sett_val *record_val(const sett__ctx *c, const sett__emit *e)
{
    uint32_t id = sett__record(c->b, c->site, e);
    return id == SETT__NONE ? NULL : sett__scalar_val(c->b, id);
}

/* Facts hold for the mathematical result; the recorded one has them only if it cannot
 * wrap, which for index arithmetic is what the launch checks. A range is kept only
 * where it is proven to fit. */
static void refine_facts(sett_val *v, facts f)
{
    int64_t low = is_wide(v) ? INT64_MIN : INT32_MIN, high = is_wide(v) ? INT64_MAX : INT32_MAX;
    if (f.div > v->div && v->div)
        v->div = f.div;
    if (f.lo < low || f.hi > high)
        return;
    if (f.lo > v->lo)
        v->lo = f.lo;
    if (f.hi < v->hi)
        v->hi = f.hi;
}

/* The facts of a value do not follow from the CONVERT that is recorded here, so they are copied. */
sett_val *sett__leaf_to(const sett__ctx *c, sett_val *v, sett_dtype to)
{
    if (!v || v->head.poison || v->dtype == to)
        return v;
    facts f = facts_of(sett_arg_v(v));
    sett_val *w = record_val(c, &(sett__emit){.code = SETT__CONVERT, .dtype = to, .n = 1, .n_args = 1, .args = &v->id});
    if (w && !w->head.poison)
        refine_facts(w, f);
    return w;
}

/* Indices are signed: an unsigned one that fits stays narrow. */
static sett_val *index_val(const sett__ctx *c, sett_arg a)
{
    sett_val *v = sett__arg_val(c->b, c->site, a);
    if (!v || v->head.poison || v->dtype == SETT_I32 || v->dtype == SETT_I64)
        return v;
    return sett__leaf_to(c, v, v->lo >= INT32_MIN && v->hi <= INT32_MAX ? SETT_I32 : SETT_I64);
}

/* What an operation gives back as it is: still of a type that an offset may have. */
static sett_arg unchanged(const sett__ctx *c, sett_arg a)
{
    bool index = a.kind != SETT_VALUE || a.u.v->dtype == SETT_I32 || is_wide(a.u.v);
    sett_val *v = index || !c->b ? NULL : index_val(c, a);
    return !v ? a : v->head.poison ? sett__poison_arg(c->b) : sett_arg_v(v);
}

/* Records one operation on leaves, in 64 bits if either operand has them, and gives the value the facts that the caller
 * derived. */
static sett_arg record_leaf(const sett__ctx *c, sett__code code, sett_arg a, sett_arg b, facts f)
{
    if (!c->b)
        return sett__poison_arg(c->b);
    sett_val *x = index_val(c, a), *y = index_val(c, b);
    if (!x || !y || x->head.poison || y->head.poison)
        return sett__poison_arg(c->b);
    if (is_wide(x) != is_wide(y)) {
        x = sett__leaf_to(c, x, SETT_I64);
        y = sett__leaf_to(c, y, SETT_I64);
        if (!x || !y || x->head.poison || y->head.poison)
            return sett__poison_arg(c->b);
    }
    bool nonneg =
        (code == SETT__DIV || code == SETT__REM || code == SETT__SHR) && facts_of(a).lo >= 0 && facts_of(b).lo >= 0;
    sett_val *r = record_val(c, &(sett__emit){.code = code,
                                .dtype = (sett_dtype)x->dtype,
                                .n = 1,
                                .n_args = 2,
                                .n_attrs = nonneg,
                                .attrs = sett__nonneg,
                                .args = (const uint32_t[]){x->id, y->id}});
    if (!r || r->head.poison)
        return sett__poison_arg(c->b);
    refine_facts(r, f);
    return sett_arg_v(r);
}

/* ---- ranges -------------------------------------------------------------------------- */

static int64_t sat_add(int64_t a, int64_t b)
{
    int64_t r;
    return !__builtin_add_overflow(a, b, &r) ? r : a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t sat_neg(int64_t a)
{
    return a == INT64_MIN ? INT64_MAX : -a;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    return !__builtin_mul_overflow(a, b, &r) ? r : (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

/* The range of a product has its ends among the four products of the ends. */
static facts mul_facts(facts a, facts b)
{
    int64_t p[4] = {sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo), sat_mul(a.hi, b.hi)};
    facts f = {.lo = p[0], .hi = p[0]};
    for (int i = 1; i < 4; i++) {
        f.lo = p[i] < f.lo ? p[i] : f.lo;
        f.hi = p[i] > f.hi ? p[i] : f.hi;
    }
    if (__builtin_mul_overflow(a.div, b.div, &f.div))
        f.div = a.div;
    return f;
}

/* ---- the operations -------------------------------------------------------------------- */

#define OVERFLOWS " overflows 64 bits"

/* An overflow is found below a mode; its caller knows which mode that is. */
void sett__name_mode(const sett__ctx *c, int mode, const sett_arg *whole)
{
    char *text = c->b ? c->b->error.text : NULL;
    size_t n = text ? strlen(text) : 0, end = sizeof OVERFLOWS - 1;
    if (n > end && !strcmp(text + n - end, OVERFLOWS))
        snprintf(text + n, sizeof c->b->error.text - n, ", in mode %d of %s", mode, sett__arg_text(c->b, *whole));
}

static sett_arg overflowed(const sett__ctx *c, sett_arg a, const char *op, sett_arg b)
{
    return sett__bad(c, SETT_E_RANGE, "%lld %s %lld" OVERFLOWS, (long long)a.u.i, op, (long long)b.u.i);
}

/* Each of these computes static leaves, returns an operand that the result equals, and records only what is left. Facts
 * of the result come from those of the operands. */
sett_arg sett__add(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg out;
    int64_t r;
    if (sett__is_number(a) && sett__is_number(b))
        return __builtin_add_overflow(a.u.i, b.u.i, &r) ? overflowed(c, a, "+", b) : sett_arg_i(r);
    if (must_stop(c, a, b, &out))
        return out;
    if (sett__is_int(a, 0))
        return unchanged(c, b);
    if (sett__is_int(b, 0))
        return unchanged(c, a);
    facts x = facts_of(a), y = facts_of(b);
    return record_leaf(c, SETT__ADD, a, b, (facts){sett__gcd(x.div, y.div), sat_add(x.lo, y.lo), sat_add(x.hi, y.hi)});
}

sett_arg sett__sub(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg out;
    int64_t r;
    if (sett__is_number(a) && sett__is_number(b))
        return __builtin_sub_overflow(a.u.i, b.u.i, &r) ? overflowed(c, a, "-", b) : sett_arg_i(r);
    if (must_stop(c, a, b, &out))
        return out;
    if (sett__is_int(b, 0))
        return unchanged(c, a);
    facts x = facts_of(a), y = facts_of(b);
    return record_leaf(
        c, SETT__SUB, a, b, (facts){sett__gcd(x.div, y.div), sat_add(x.lo, sat_neg(y.hi)), sat_add(x.hi, sat_neg(y.lo))});
}

/* v@path * n is (v*n)@path. */
static sett_arg scale_basis(const sett__ctx *c, sett_arg a, sett_arg b)
{
    uint32_t path = a.path | b.path;
    if (a.path && b.path)
        return sett__bad(c, SETT_E_ARGUMENT, "two scaled basis elements have no product");
    a.path = b.path = 0;
    sett_arg r = sett__mul(c, a, b);
    if (r.kind != SETT_POISON)
        r.path = path;
    return r;
}

sett_arg sett__mul(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg out;
    int64_t r;
    if (a.path | b.path)
        return scale_basis(c, a, b);
    if (sett__is_number(a) && sett__is_number(b))
        return __builtin_mul_overflow(a.u.i, b.u.i, &r) ? overflowed(c, a, "*", b) : sett_arg_i(r);
    if (must_stop(c, a, b, &out))
        return out;
    if (sett__is_int(a, 0) || sett__is_int(b, 0))
        return sett_arg_i(0);
    if (sett__is_int(a, 1))
        return unchanged(c, b);
    if (sett__is_int(b, 1))
        return unchanged(c, a);
    return record_leaf(c, SETT__MUL, a, b, mul_facts(facts_of(a), facts_of(b)));
}

/* x if a is the recorded product x*k of a constant that d divides, which provably does not
 * wrap: then a/d is x*(k/d). */
static bool undo_mul(const sett__ctx *c, sett_arg a, int64_t d, sett_arg *out)
{
    const sett_val *v = a.u.v;
    if (a.kind != SETT_VALUE || v->id >= c->b->n_op || c->b->op[v->id].code != SETT__MUL || d <= 0 || !c->b->val_of)
        return false;
    const uint32_t *args = c->b->arg + c->b->op[v->id].args;
    for (int i = 0; i < 2; i++) {
        const sett__op *k = &c->b->op[args[i]];
        sett_val *x = c->b->val_of[args[!i]];
        if (k->code != SETT__CONST || !x || x->dtype != v->dtype)
            continue;
        int64_t n = sett__int_of_bits((sett_dtype)k->dtype, (uint64_t)k->imm);
        int64_t limit = is_wide(v) ? INT64_MAX : INT32_MAX;
        if (n <= 0 || n % d || x->lo < 0 || x->hi > limit / n)
            continue;
        x = sett__val(c->b, x->id, x->shape, true);
        *out = sett__mul(c, sett_arg_v(x), sett_arg_i(n / d));
        return true;
    }
    return false;
}

/* C rounds toward zero, and INT64_MIN / -1 traps, so -1 is a case of its own. */
static sett_arg static_div(const sett__ctx *c, sett_arg a, sett_arg b, bool rem)
{
    if (!b.u.i)
        return sett__bad(c, SETT_E_RANGE, "%lld divided by zero", (long long)a.u.i);
    if (b.u.i == -1)
        return rem ? sett_arg_i(0) : a.u.i == INT64_MIN ? overflowed(c, a, "/", b) : sett_arg_i(-a.u.i);
    return sett_arg_i(rem ? a.u.i % b.u.i : a.u.i / b.u.i);
}

bool sett__is_64(sett_arg a)
{
    return a.kind == SETT_VALUE ? sett_dtype_bits((sett_dtype)a.u.v->dtype) == 64 : a.u.i > INT32_MAX || a.u.i < INT32_MIN;
}

/* Is it proven that 0 <= a < b? */
static bool proven_below(facts a, facts b)
{
    return a.lo >= 0 && a.hi < b.lo;
}

sett_arg sett__div(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg out;
    if (sett__is_number(a) && sett__is_number(b))
        return static_div(c, a, b, false);
    if (must_stop(c, a, b, &out))
        return out;
    facts x = facts_of(a), y = facts_of(b), f = {1, INT64_MIN, INT64_MAX};
    if (sett__is_int(b, 0))
        return sett__bad(c, SETT_E_RANGE, "a dynamic number divided by zero");
    if (sett__is_int(b, 1))
        return unchanged(c, a);
    if (sett__is_int(a, 0) || proven_below(x, y))
        return sett_arg_i(0);
    if (sett__is_number(b) && c->b && undo_mul(c, a, b.u.i, &out))
        return out;
    if (sett__is_number(b) && b.u.i > 0 && x.div && x.div % b.u.i == 0)
        f.div = x.div / b.u.i;
    if (x.lo >= 0 && y.lo >= 1) {
        f.lo = x.lo / y.hi;
        f.hi = x.hi / y.lo;
    }
    return record_leaf(c, SETT__DIV, a, b, f);
}

sett_arg sett__rem(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg out;
    if (sett__is_number(a) && sett__is_number(b))
        return static_div(c, a, b, true);
    if (must_stop(c, a, b, &out))
        return out;
    facts x = facts_of(a), y = facts_of(b), f = {sett__gcd(x.div, y.div), INT64_MIN, INT64_MAX};
    if (sett__is_int(b, 0))
        return sett__bad(c, SETT_E_RANGE, "a dynamic number divided by zero");
    if (sett__is_int(a, 0) || (sett__is_number(b) && b.u.i > 0 && x.div % b.u.i == 0))
        return sett_arg_i(0);
    if (proven_below(x, y))
        return unchanged(c, a);
    if (x.lo >= 0 && y.lo >= 1) {
        f.lo = 0;
        f.hi = x.hi < y.hi - 1 ? x.hi : y.hi - 1;
    }
    return record_leaf(c, SETT__REM, a, b, f);
}

sett_arg sett__ceil_div(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg out;
    if (sett__is_number(a) && sett__is_number(b)) {
        sett_arg q = static_div(c, a, b, false);
        bool up = q.kind == SETT_INT && (a.u.i < 0) == (b.u.i < 0) && a.u.i % b.u.i;
        return up ? sett_arg_i(q.u.i + 1) : q;
    }
    if (must_stop(c, a, b, &out))
        return out;
    facts x = facts_of(a), y = facts_of(b);
    if (sett__is_int(b, 1) || sett__is_int(a, 0))
        return unchanged(c, a);
    if (x.lo >= 1 && x.hi <= y.lo)
        return sett_arg_i(1);
    if (sett__is_number(b) && b.u.i > 0 && x.div % b.u.i == 0)
        return sett__div(c, a, b);
    /* Near the end of the type a + b - 1 wraps; where that is possible, a/b, and one more for a rest above 0. */
    bool wide = sett__is_64(a) || sett__is_64(b);
    sett_arg r;
    if (sat_add(x.hi, sat_add(y.hi, -1)) <= (wide ? INT64_MAX - 1 : INT32_MAX)) {
        r = sett__div(c, sett__add(c, a, sett__sub(c, b, sett_arg_i(1))), b);
    } else {
        sett_arg more = sett__min(c, sett__rem(c, a, b), sett_arg_i(1));
        r = sett__add(c, sett__div(c, a, b), x.lo < 0 ? sett__max(c, more, sett_arg_i(0)) : more);
    }
    if (r.kind == SETT_VALUE && x.lo >= 0 && y.lo >= 1)
        refine_facts(r.u.v, (facts){1, x.lo >= 1, x.hi / y.lo + (x.hi % y.lo != 0)});
    return r;
}

static sett_arg min_or_max(const sett__ctx *c, sett_arg a, sett_arg b, bool max)
{
    sett_arg out;
    if (sett__is_number(a) && sett__is_number(b))
        return (a.u.i < b.u.i) != max ? a : b;
    if (must_stop(c, a, b, &out))
        return out;
    facts x = facts_of(a), y = facts_of(b), f = {.div = sett__gcd(x.div, y.div)};
    if (x.hi <= y.lo || (a.kind == SETT_VALUE && b.kind == SETT_VALUE && a.u.v == b.u.v))
        return unchanged(c, max ? b : a);
    if (y.hi <= x.lo)
        return unchanged(c, max ? a : b);
    f.lo = (x.lo < y.lo) != max ? x.lo : y.lo;
    f.hi = (x.hi < y.hi) != max ? x.hi : y.hi;
    return record_leaf(c, max ? SETT__MAX : SETT__MIN, a, b, f);
}

sett_arg sett__min(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return min_or_max(c, a, b, false);
}

sett_arg sett__max(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return min_or_max(c, a, b, true);
}

/* ---- swizzles ----------------------------------------------------------------------------- */

/* x ^ ((x & mask) >> shift): `bits` bits from base + max(0,shift) move onto those `shift` lower. */
sett_arg sett__xor_shift(const sett__ctx *c, sett_arg x, int bits, int base, int shift)
{
    sett_arg out;
    int64_t mask = (((int64_t)1 << bits) - 1) << (base + (shift > 0 ? shift : 0));
    if (!bits)
        return x;
    if (sett__is_number(x))
        return sett_arg_i(
            x.u.i ^ (shift >= 0 ? (x.u.i & mask) >> shift : (int64_t)((uint64_t)(x.u.i & mask) << -shift)));
    if (must_stop(c, x, x, &out))
        return out;
    facts f = facts_of(x);
    int low = base + (shift < 0 ? -shift : 0); /* bits below are untouched */
    facts top = {1, 0, INT64_MAX}, all = {sett__gcd(f.div, (int64_t)1 << low), f.lo >= 0 ? 0 : INT64_MIN, INT64_MAX};
    if (f.lo >= 0 && f.hi <= INT32_MAX)
        all.hi = INT32_MAX;
    sett_arg moved =
        record_leaf(c, SETT__AND, x, sett_arg_i(mask), (facts){(int64_t)1 << (base + (shift > 0 ? shift : 0)), 0, mask});
    if (moved.kind == SETT_VALUE)
        moved = record_leaf(c, shift >= 0 ? SETT__SHR : SETT__SHL, moved, sett_arg_i(abs(shift)), top);
    return moved.kind == SETT_VALUE ? record_leaf(c, SETT__XOR, x, moved, all) : moved;
}
