/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on values: C numbers, promotion, broadcasting, then one op of the tape. */
#include "value.h"
#include <math.h>
#include <string.h>

static bool is_float(sett_dtype d)
{
    return sett__dtype_is_float(d);
}

static bool is_int(sett_dtype d)
{
    return sett__dtype_is_int(d);
}

static bool is_arithmetic(sett_dtype d)
{
    return sett__dtype_kind(d) != 's';
}

/* ---- C numbers ---------------------------------------------------------------- */
static uint64_t bits_of_int(sett_dtype d, int64_t i)
{
    if (d == SETT_BOOL)
        return i != 0;
    return sett__bits_of_int(d, i);
}

static bool int_fits(sett_dtype d, int64_t i)
{
    int64_t lo, hi;
    if (d == SETT_BOOL)
        return i == 0 || i == 1;
    if (is_float(d))
        return isfinite(sett__float_of_bits(d, bits_of_int(d, i)));
    if (d == SETT_U64 || d == SETT_U128)
        return i >= 0;
    if (d == SETT_I4)
        return i >= -8 && i <= 7;
    sett__dtype_range(d, &lo, &hi);
    return i >= lo && i <= hi;
}

/* CuTe's constructors: integers wrap, a float truncates to an integer first. */
static sett_val *construct_number(const sett__ctx *c, sett_arg a, sett_dtype d)
{
    sett_build *b = c->b;
    if (a.kind == SETT_INT)
        return sett__const_bits(b, c->site, d, bits_of_int(d, a.u.i));
    if (is_float(d) || (sett__dtype_kind(d) == 's' && d != SETT_I4))
        return sett__const_bits(b, c->site, d, sett__bits_of_float(d, a.u.f));
    if (d == SETT_BOOL)
        return sett__const_bits(b, c->site, d, a.u.f != 0);
    bool fits = a.u.f > -0x1p63 && a.u.f < 0x1p63;
    SETT__FAIL_IF(b, c->site, c->func, !fits, sett__poison_val(b), SETT_E_RANGE, "%s cannot be made of %g", sett_dtype_name(d), a.u.f);
    return sett__const_bits(b, c->site, d, sett__bits_of_int(d, (int64_t)a.u.f));
}

/* ---- operands -------------------------------------------------------------------- */
typedef struct operand {
    sett_val *v; /* NULL: a C number */
    sett_arg number;
    sett_val room; /* for the number as a value: most are in one op and never seen again */
} operand;

/* Of a weak number beside values of type d (which is a float where the number is). */
static bool weak_bits(const sett__ctx *c, sett_arg a, sett_dtype d, uint64_t *bits)
{
    if (a.kind == SETT_INT) {
        SETT__FAIL_IF(c->b, c->site, c->func, !int_fits(d, a.u.i), false, SETT_E_RANGE, "%s cannot hold %lld",
            sett_dtype_name(d), (long long)a.u.i);
        *bits = bits_of_int(d, a.u.i);
        return true;
    }
    *bits = is_float(d) ? sett__bits_of_float(d, a.u.f) : 0;
    bool fits = is_float(d) && (!isfinite(a.u.f) || isfinite(sett__float_of_bits(d, *bits)));
    SETT__FAIL_IF(c->b, c->site, c->func, !fits, false, SETT_E_RANGE, "%s cannot hold %g", sett_dtype_name(d), a.u.f);
    return true;
}

static sett_val *weak(const sett__ctx *c, operand *o, sett_dtype d)
{
    uint64_t bits;
    return weak_bits(c, o->number, d, &bits) ? sett__const_in(c->b, c->site, d, bits, &o->room) : sett__poison_val(c->b);
}

/* Checks one operand and records a lazy predicate: what is used in arithmetic is a value. */
static sett_val *use_operand(const sett__ctx *c, const sett_val *v)
{
    if (!(v && sett__fine_val(c->b, v)) && !sett__use_val(c->b, c->site, c->func, v))
        return NULL;
    v = v->id == SETT__NONE ? sett__materialise(c->site, v) : v;
    SETT__FAIL_IF(c->b, c->site, c->func, !v->head.poison && !is_arithmetic((sett_dtype)v->dtype), NULL, SETT_E_DTYPE,
        "there is no arithmetic on %s; convert it with sett_to", sett_dtype_name((sett_dtype)v->dtype));
    return c->b->error.status ? NULL : (sett_val *)(uintptr_t)v;
}

static bool take_operand(const sett__ctx *c, sett_arg a, operand *o)
{
    o->v = NULL;
    o->number = a;
    if (a.kind == SETT_POISON)
        return sett__use_arg(c->b, c->site, c->func, a);
    bool number = a.kind == SETT_INT || a.kind == SETT_FLOAT;
    if (!number && a.kind != SETT_VALUE && !sett__use_arg(c->b, c->site, c->func, a))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, (!number && a.kind != SETT_VALUE) || a.path, false, SETT_E_ARGUMENT,
        "an operand is %s, it must be a value or a number%s", sett__arg_text(c->b, a), sett__of_tuple(a));
    if (number)
        return !c->b->error.status;
    o->v = use_operand(c, a.u.v);
    if (o->v && o->v->weak && c->b->op[o->v->id].code == SETT__CONST)
        *o = (operand){.number = sett_arg_i(sett__int_of_bits((sett_dtype)o->v->dtype, (uint64_t)c->b->op[o->v->id].imm))};
    return o->v || o->number.kind == SETT_INT;
}

/* ---- promotion: CuTe's table ------------------------------------------------------- */
static sett_dtype float_of_bits(int bits, sett_dtype f)
{
    int own = sett_dtype_bits(f);
    if (bits < own || (bits == own && f != SETT_BF16))
        return f;
    return bits == 16 ? SETT_F16 : bits == 32 ? SETT_F32 : SETT_F64;
}

static sett_dtype wider(sett_dtype x, sett_dtype y)
{
    return sett_dtype_bits(y) > sett_dtype_bits(x) ? y : x;
}

static sett_dtype promote(sett_dtype x, sett_dtype y)
{
    if (x == y || y == SETT_BOOL)
        return x;
    if (x == SETT_BOOL)
        return y;
    if (is_float(x) != is_float(y))
        return is_float(x) ? float_of_bits(sett_dtype_bits(y), x) : float_of_bits(sett_dtype_bits(x), y);
    if (is_float(x))
        return sett_dtype_bits(x) == sett_dtype_bits(y) ? SETT_F16 : wider(x, y);
    bool sx = sett__dtype_kind(x) == 'i', sy = sett__dtype_kind(y) == 'i';
    if (sx == sy)
        return wider(x, y);
    sett_dtype s = sx ? x : y, u = sx ? y : x;
    return sett_dtype_bits(u) >= sett_dtype_bits(s) ? u : s;
}

/* The common type of operands, of which numbers bend to the values beside them. */
static bool common_type(const sett__ctx *c, const operand *o, int n, sett_dtype *out)
{
    sett_dtype d = (sett_dtype)0;
    bool fraction = false;
    for (int i = 0; i < n; i++) {
        if (o[i].v)
            d = d ? promote(d, (sett_dtype)o[i].v->dtype) : (sett_dtype)o[i].v->dtype;
        else
            fraction |= o[i].number.kind == SETT_FLOAT;
    }
    SETT__FAIL_IF(c->b, c->site, c->func, !d, false, SETT_E_ARGUMENT, "one operand must be a value");
    *out = fraction && !is_float(d) ? SETT_F32 : d;
    return true;
}

sett_val *sett__converted(sett_build *b, sett_site site, sett_val *v, sett_dtype dtype)
{
    if (b->error.status)
        return sett__poison_val(b);
    if (v->dtype == dtype)
        return v;
    if (sett__dtype_kind((sett_dtype)v->dtype) == 's' || sett__dtype_kind(dtype) == 's')
        return sett__to_narrow(b, site, v, dtype);
    if (sett__dtype_is_wide((sett_dtype)v->dtype) ? is_float(dtype) : sett__dtype_is_wide(dtype) && is_float((sett_dtype)v->dtype))
        return sett__to_wide(b, site, v, dtype);
    uint32_t id = sett__record(b, site,
        &(sett__emit){.code = SETT__CONVERT, .dtype = dtype, .n = v->n, .n_args = 1, .args = &v->id});
    sett_val *r = sett__val(b, id, v->shape, v->scalar);
    if (!r->scalar || r->div >= v->div || !is_int(dtype) || !is_int((sett_dtype)v->dtype) || b->error.status)
        return r;
    sett_val *view = sett__new(b, sizeof *view); /* v is a view that knows more than its op */
    *view = *r;
    view->div = v->div;
    return view;
}

/* Numbers become values of the type; every operand gets the broadcast shape. */
static bool to_one_type(const sett__ctx *c, operand *o, int n, sett_dtype d)
{
    sett_val *v[3];
    for (int i = 0; i < n; i++)
        v[i] = o[i].v ? sett__to(c->b, c->site, o[i].v, d) : weak(c, &o[i], d);
    if (c->b->error.status || !sett__broadcast(c, v, n))
        return false;
    for (int i = 0; i < n; i++)
        o[i].v = v[i];
    return !c->b->error.status;
}

/* ---- binary operations ---------------------------------------------------------------- */
static const struct binary_info {
    sett__code code;
    bool bits, compare;
} binary_info[] = {
    [SETT_ADD] = {SETT__ADD, 0, 0}, [SETT_SUB] = {SETT__SUB, 0, 0}, [SETT_MUL] = {SETT__MUL, 0, 0},
    [SETT_DIV] = {SETT__DIV, 0, 0}, [SETT_FLOORDIV] = {SETT__DIV, 0, 0}, [SETT_MOD] = {SETT__REM, 0, 0},
    [SETT_MIN] = {SETT__MIN, 0, 0}, [SETT_MAX] = {SETT__MAX, 0, 0}, [SETT_AND] = {SETT__AND, 1, 0},
    [SETT_OR] = {SETT__OR, 1, 0},   [SETT_XOR] = {SETT__XOR, 1, 0}, [SETT_SHL] = {SETT__SHL, 1, 0},
    [SETT_SHR] = {SETT__SHR, 1, 0}, [SETT_LT] = {SETT__LT, 0, 1},   [SETT_LE] = {SETT__LE, 0, 1},
    [SETT_GT] = {SETT__GT, 0, 1},   [SETT_GE] = {SETT__GE, 0, 1},   [SETT_EQ] = {SETT__EQ, 0, 1},
    [SETT_NE] = {SETT__NE, 0, 1},
};

static bool natural(const sett_val *v)
{
    return sett__dtype_kind((sett_dtype)v->dtype) == 'u' || (v->scalar && is_int((sett_dtype)v->dtype) && v->lo >= 0);
}

static sett_val *zero_like(const sett__ctx *c, const sett_val *v)
{
    return sett__const_bits(c->b, c->site, (sett_dtype)v->dtype, 0);
}

/* q = x/y toward zero, less one where the rest is not zero and the signs differ. */
static sett_val *floor_div(const sett__ctx *c, sett_val *x, sett_val *y)
{
    sett_build *b = c->b;
    sett_site s = c->site;
    if (is_float((sett_dtype)x->dtype))
        return sett__unary(b, s, SETT__FLOOR, sett__op2(b, s, SETT__DIV, 0, x, y));
    if (natural(x) && natural(y))
        return sett__op2(b, s, SETT__DIV, true, x, y);
    const bool number = y->scalar && y->lo == y->hi && y->lo > 0, exact = number && x->scalar && x->div % y->lo == 0;
    if (number && !(y->lo & (y->lo - 1))) { /* an arithmetic shift floors */
        sett_val *q = sett__op2(b, s, SETT__SHR, 0, x, sett__const_bits(b, s, (sett_dtype)x->dtype, (uint64_t)__builtin_ctzll((uint64_t)y->lo)));
        return exact && q->div < x->div / y->lo && q->lo < q->hi ? sett__assumed(q, x->div / y->lo) : q;
    }
    if (exact)
        return sett__op2(b, s, SETT__DIV, 0, x, y); /* it leaves no rest to correct */
    sett_val *q = sett__op2(b, s, SETT__DIV, 0, x, y), *r = sett__op2(b, s, SETT__REM, 0, x, y);
    sett_val *signs = y->scalar && y->lo > 0 ? r : sett__op2(b, s, SETT__XOR, 0, r, y);
    sett_val *below = sett__op2(b, s, SETT__LT, 0, signs, zero_like(c, signs));
    if (signs != r)
        below = sett__op2(b, s, SETT__AND, 0, below, sett__op2(b, s, SETT__NE, 0, r, zero_like(c, r)));
    return sett__op2(b, s, SETT__SUB, 0, q, sett__to(b, s, below, (sett_dtype)x->dtype));
}

/* at: as in sett__emit. */
static sett_val *apply_binary(const sett__ctx *c, sett_binary_op op, sett_val *x, sett_val *y, uint32_t at)
{
    if (op == SETT_FLOORDIV)
        return floor_div(c, x, y);
    if (op > SETT_NE)
        return sett__expand_binary(c, op, x, y);
    bool nonneg = op == SETT_MOD && is_int((sett_dtype)x->dtype) && natural(x) && natural(y);
    return sett__op2_at(c->b, c->site, at, binary_info[op].code, nonneg, x, y);
}

/* The type that an operation computes in, of the operands' common type. */
static sett_dtype computes_in(sett_binary_op op, sett_dtype d)
{
    if (d != SETT_BOOL || (op <= SETT_NE && binary_info[op].compare) || op == SETT_AND || op == SETT_OR || op == SETT_XOR)
        return d;
    return SETT_I32;
}

/* Two scalars of one type, in which the operation is done, or one and a number that bends to it: most often. */
static bool is_plain(sett_binary_op op, const operand o[2])
{
    const sett_val *x = o[0].v, *y = o[1].v, *v = x ? x : y;
    if (!v || op > SETT_NE || v->dtype == SETT_BOOL || !v->scalar || (x && y && (!y->scalar || x->dtype != y->dtype)))
        return false;
    if (is_float((sett_dtype)v->dtype))
        return !binary_info[op].bits;
    const sett_arg *number = x && y ? NULL : &o[x != NULL].number;
    bool by_zero = number && !y && (op == SETT_FLOORDIV || op == SETT_MOD) && !number->u.i;
    return op != SETT_DIV && (!number || (number->kind == SETT_INT && is_int((sett_dtype)v->dtype) && !by_zero));
}

static sett_val *binary_of(const sett__ctx *c, sett_binary_op op, operand o[2])
{
    sett_build *b = c->b;
    sett_dtype d;
    if (is_plain(op, o)) {
        uint32_t at = 0, before = b->n_op;
        operand *number = o[0].v ? &o[1] : &o[0];
        if (!number->v) {
            number->v = weak(c, number, (sett_dtype)(o[0].v ? o : o + 1)->v->dtype);
            at = b->n_op > before ? b->op[before].site + 1 : 0; /* it is a new op's, of this site */
        }
        return b->error.status ? sett__poison_val(b) : apply_binary(c, op, o[0].v, o[1].v, at);
    }
    if (!common_type(c, o, 2, &d))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, c->site, c->func, op <= SETT_NE && binary_info[op].bits && is_float(d), sett__poison_val(b), SETT_E_DTYPE,
        "there are no bitwise operations on %s", sett_dtype_name(d));
    char types[SETT__TYPES_TEXT];
    SETT__FAIL_IF(b, c->site, c->func, op > SETT_NE && !sett__expands(op, d), sett__poison_val(b), SETT_E_DTYPE,
        "it takes %s, not %s: sett_to converts", sett__types_text("hfd", types), sett_dtype_name(d));
    bool mixed = op > SETT_POW && o[0].v && o[1].v && o[0].v->dtype != o[1].v->dtype; /* as in CuTe: math functions promote nothing */
    SETT__FAIL_IF(b, c->site, c->func, mixed, sett__poison_val(b), SETT_E_DTYPE, "the operands have types %s and %s",
        sett_dtype_name((sett_dtype)o[0].v->dtype), sett_dtype_name((sett_dtype)o[1].v->dtype));
    bool by_zero = (op == SETT_FLOORDIV || op == SETT_MOD) && !is_float(d) && !o[1].v && o[1].number.u.i == 0;
    SETT__FAIL_IF(b, c->site, c->func, by_zero, sett__poison_val(b), SETT_E_RANGE, "the divisor is 0");
    if (!to_one_type(c, o, 2, d))
        return sett__poison_val(b);
    sett_dtype in = computes_in(op, d);
    for (int i = 0; i < 2; i++) {
        o[i].v = sett__to(b, c->site, o[i].v, in);
        if (op == SETT_DIV && !is_float(d)) /* CuTe: of the common integer type, then in Float32 */
            o[i].v = sett__to(b, c->site, o[i].v, SETT_F32);
    }
    sett_val *r = b->error.status ? sett__poison_val(b) : apply_binary(c, op, o[0].v, o[1].v, 0);
    /* Boolean arithmetic is done in Int32 and gives a Boolean; the least and greatest give the number. */
    bool back = in != d && op != SETT_MIN && op != SETT_MAX && op != SETT_DIV;
    return back ? sett__to(b, c->site, r, SETT_BOOL) : r;
}

sett_val *sett_binary_at(sett_site site, const char *func, sett_binary_op op, sett_arg x, sett_arg y)
{
    sett_build *b = sett__build_of(x);
    sett__ctx c = {b ? b : sett__build_of(y), site, func};
    operand o[2];
    if (!c.b)
        return NULL;
    SETT__FAIL_IF(c.b, site, func, op < SETT_ADD || op > SETT_FMAX, sett__poison_val(c.b), SETT_E_ARGUMENT, "%d is not an operation", (int)op);
    sett_val *lazy = op == SETT_AND ? sett__pred_and(&c, x, y) : NULL;
    if (!lazy && (!take_operand(&c, x, &o[0]) || !take_operand(&c, y, &o[1])))
        return sett__poison_val(c.b);
    return sett__asked(&c, lazy ? lazy : binary_of(&c, op, o), x, y);
}

/* ---- fma, where --------------------------------------------------------------------- */
static sett_val *record_ternary(const sett__ctx *c, sett__code code, const operand o[3])
{
    sett_build *b = c->b;
    sett_val *shaped = o[0].v;
    for (int i = 0; i < 3; i++)
        if (o[i].v->n > shaped->n || (shaped->scalar && !o[i].v->scalar))
            shaped = o[i].v;
    uint32_t id = sett__record(b, c->site,
        &(sett__emit){.code = code, .dtype = (sett_dtype)o[1].v->dtype, .n = shaped->n, .n_args = 3,
            .args = (const uint32_t[]){o[0].v->id, o[1].v->id, o[2].v->id}});
    return sett__val(b, id, shaped->shape, shaped->scalar);
}

sett_val *sett_fma_at(sett_site site, sett_arg x, sett_arg y, sett_arg z)
{
    const sett_arg in[3] = {x, y, z};
    sett__ctx c = {NULL, site, "sett_fma"};
    operand o[3];
    sett_dtype d;
    for (int i = 0; i < 3 && !c.b; i++)
        c.b = sett__build_of(in[i]);
    if (!c.b)
        return NULL;
    for (int i = 0; i < 3; i++)
        if (!take_operand(&c, in[i], &o[i]))
            return sett__poison_val(c.b);
    if (!common_type(&c, o, 3, &d))
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, d == SETT_BOOL, sett__poison_val(c.b), SETT_E_DTYPE, "there is no fma of Booleans");
    if (!to_one_type(&c, o, 3, d))
        return sett__poison_val(c.b);
    if (is_float(d))
        return record_ternary(&c, SETT__FMA, o);
    return sett__op2(c.b, site, SETT__ADD, 0, sett__op2(c.b, site, SETT__MUL, 0, o[0].v, o[1].v), o[2].v);
}

/* Numbers take the other's type, a fraction beside an integer Float32; two numbers Int32, or Float32 if one has a fraction. */
static bool where_type(const sett__ctx *c, const operand *x, const operand *y, sett_dtype *d)
{
    if (!x->v && !y->v) {
        *d = x->number.kind == SETT_FLOAT || y->number.kind == SETT_FLOAT ? SETT_F32 : SETT_I32;
        return true;
    }
    const sett_val *v = x->v ? x->v : y->v;
    bool fraction = (!x->v && x->number.kind == SETT_FLOAT) || (!y->v && y->number.kind == SETT_FLOAT);
    *d = fraction && !is_float((sett_dtype)v->dtype) ? SETT_F32 : (sett_dtype)v->dtype;
    bool same = !x->v || !y->v || x->v->dtype == y->v->dtype;
    SETT__FAIL_IF(c->b, c->site, c->func, !same, false, SETT_E_DTYPE, "the arms have types %s and %s",
        sett_dtype_name((sett_dtype)v->dtype), sett_dtype_name((sett_dtype)y->v->dtype));
    return true;
}

sett_val *sett_where_at(sett_site site, sett_val *cond, sett_arg x, sett_arg y)
{
    sett__ctx c = {sett__home(cond), site, "sett_where"};
    if (!c.b)
        c.b = sett__build_of(x) ? sett__build_of(x) : sett__build_of(y);
    operand o[3] = {{.v = use_operand(&c, cond)}};
    sett_dtype d;
    if (!o[0].v || !take_operand(&c, x, &o[1]) || !take_operand(&c, y, &o[2]) || !where_type(&c, &o[1], &o[2], &d))
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, o[0].v->dtype != SETT_BOOL, sett__poison_val(c.b), SETT_E_DTYPE,
        "the condition is %s, it must be Boolean", sett_dtype_name((sett_dtype)o[0].v->dtype));
    sett_val *v[3] = {NULL, NULL, o[0].v}; /* the condition last: the arms decide how the shape is written */
    for (int i = 1; i < 3; i++)
        v[i - 1] = o[i].v ? sett__to(c.b, site, o[i].v, d) : weak(&c, &o[i], d);
    if (c.b->error.status || !sett__broadcast(&c, v, 3))
        return sett__poison_val(c.b);
    return record_ternary(&c, SETT__SELECT, (const operand[]){{.v = v[2]}, {.v = v[0]}, {.v = v[1]}});
}

/* ---- constants ------------------------------------------------------------------------ */
static bool need_values(const sett__ctx *c, sett_dtype d)
{
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__dtype_valid((int)d), false, SETT_E_DTYPE, "%d is not an element type", (int)d);
    return !c->b->error.status;
}

/* One element of a type: a number constructed, or a scalar value converted. */
static sett_val *one_element(const sett__ctx *c, sett_arg a, sett_dtype d)
{
    operand o;
    if (!need_values(c, d) || !take_operand(c, a, &o))
        return sett__poison_val(c->b);
    if (!o.v)
        return construct_number(c, o.number, d);
    SETT__FAIL_IF(c->b, c->site, c->func, o.v->n != 1, sett__poison_val(c->b), SETT_E_SHAPE, "one number is needed, not a value of shape %s",
        sett__arg_text(c->b, o.v->shape));
    sett_val *v = sett__to(c->b, c->site, o.v, d);
    return v->scalar ? v : sett__scalar_val(c->b, v->id);
}

sett_val *sett__element(const sett__ctx *c, sett_arg a, sett_dtype d)
{
    return one_element(c, a, d);
}

/* A wrapped integer would start a fold from a number nobody wrote. Fractions truncate and floats round, also to infinity: as in
 * CuTe. */
sett_val *sett__exact_element(const sett__ctx *c, sett_arg a, sett_dtype d)
{
    operand o;
    uint64_t bits;
    if (!take_operand(c, a, &o))
        return sett__poison_val(c->b);
    if (o.v || is_float(d) || o.number.kind != SETT_INT)
        return one_element(c, a, d);
    return weak_bits(c, o.number, d, &bits) ? sett__const_bits(c->b, c->site, d, bits) : sett__poison_val(c->b);
}

sett_val *sett_const_at(sett_site site, sett_build *b, sett_dtype dtype, sett_arg number)
{
    b = sett__given(b, site, "sett_const");
    sett__ctx c = {b, site, "sett_const"};
    if (!b || !sett__use_arg(b, site, c.func, number))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, site, c.func, number.kind != SETT_INT && number.kind != SETT_FLOAT, sett__poison_val(b), SETT_E_STATIC,
        "a C number is needed, not %s", sett__arg_text(b, number));
    return one_element(&c, number, dtype);
}

sett_val *sett_value_at(sett_site site, sett_build *b, sett_arg a)
{
    b = sett__given(b, site, "sett_value");
    const sett__ctx c = {b, site, "sett_value"};
    if (!b || !sett__use_arg(b, site, c.func, a))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, site, c.func, a.path || (a.kind != SETT_INT && a.kind != SETT_VALUE), sett__poison_val(b), SETT_E_ARGUMENT,
        "an integer is needed, not %s", sett__arg_text(b, a));
    return a.kind == SETT_VALUE ? a.u.v : sett__arg_val(b, site, a);
}

sett_val *sett__number(sett_build *b, sett_site site, const char *func, sett_arg a, sett_dtype d)
{
    sett__ctx c = {b, site, func};
    operand o;
    if (!need_values(&c, d) || !take_operand(&c, a, &o))
        return sett__poison_val(b);
    uint64_t bits;
    if (!o.v) {
        if (sett__dtype_kind(d) == 's' && d != SETT_I4)
            return construct_number(&c, o.number, d);
        return weak_bits(&c, o.number, d, &bits) ? sett__const_bits(b, site, d, bits) : sett__poison_val(b);
    }
    SETT__FAIL_IF(b, site, func, !o.v->scalar || o.v->dtype != d, sett__poison_val(b), SETT_E_DTYPE, "a scalar of %s is needed, not %s of shape %s",
        sett_dtype_name(d), sett_dtype_name((sett_dtype)o.v->dtype), sett__arg_text(b, o.v->shape));
    return o.v;
}

/* ---- conversions ------------------------------------------------------------------------ */
/* CuTe makes no run-time value of these two either. */
static bool only_constant(sett_dtype d)
{
    return d == SETT_F8E4M3 || d == SETT_F8E4M3B11FNUZ;
}

sett_val *sett_to_at(sett_site site, const sett_val *x, sett_dtype dtype)
{
    sett__ctx c = {sett__home(x), site, "sett_to"};
    if (!sett__use_val(c.b, site, c.func, x))
        return sett__poison_val(c.b);
    sett_val *v = (sett_val *)(uintptr_t)sett__materialise(site, x);
    if (c.b->error.status || !need_values(&c, dtype))
        return sett__poison_val(c.b);
    sett_dtype odd = only_constant(dtype) ? dtype : (sett_dtype)v->dtype;
    SETT__FAIL_IF(c.b, site, c.func, only_constant(odd) && v->dtype != dtype, sett__poison_val(c.b), SETT_E_DTYPE,
        "%s is not converted; f8E4M3FN is the type that tensor cores take", sett_dtype_name(odd));
    return sett__to(c.b, site, v, dtype);
}

sett_val *sett_assume_at(sett_site site, sett_val *x, int64_t div)
{
    sett__ctx c = {sett__home(x), site, "sett_assume"};
    sett_val *v = use_operand(&c, x);
    if (!v)
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, div < 1, sett__poison_val(c.b), SETT_E_ARGUMENT, "the divisor is %lld, it must be positive", (long long)div);
    bool fits = v->scalar && is_int((sett_dtype)v->dtype) && sett_dtype_bits((sett_dtype)v->dtype) >= 32;
    SETT__FAIL_IF(c.b, site, c.func, !fits, sett__poison_val(c.b), SETT_E_DTYPE, "only an integer scalar of 32 or 64 bits has a divisor, not %s of shape %s",
        sett_dtype_name((sett_dtype)v->dtype), sett__arg_text(c.b, v->shape));
    if (v->div % div)
        sett__rely(&c, SETT__DIVIDES, (sett_arg[]){sett_arg_v(v), sett_arg_i(div)}, "a multiple of %lld is promised",
            (long long)div);
    return c.b->error.status ? sett__poison_val(c.b) : sett__assumed(v, div);
}

sett_val *sett__assumed(const sett_val *v, int64_t div)
{
    sett_val *view = sett__new(v->head.b, sizeof *view);
    *view = *v;
    view->div = div;
    return view;
}

sett_dtype sett_val_dtype(const sett_val *v)
{
    return sett__lives("sett_val_dtype", v, SETT__K_VAL) ? (sett_dtype)v->dtype : (sett_dtype)0;
}

sett_arg sett_val_shape(const sett_val *v)
{
    return sett__lives("sett_val_shape", v, SETT__K_VAL) ? v->shape : (sett_arg){.kind = SETT_NODE};
}
