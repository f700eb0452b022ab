/* SPDX-License-Identifier: Apache-2.0 */
/* What an op folds to. The rule: bit for bit what the engines would compute, so integers
 * only wrap-proof identities, and floats nothing but constants and moves. */
#include "build.h"

#define NONE SETT__NONE

typedef struct fold {
    sett_build *b;
    sett_site site;
    sett__emit *x;
    uint32_t *args;
    sett_dtype dtype;      /* of the operands */
    sett__known *known;    /* two */
    const sett__known **v; /* two: those of scalar integer operands, else NULL */
    bool is_const;         /* operand 1 is one known number */
    int64_t c;
} fold;

static const sett__op *op_of(const fold *f, int i)
{
    return &f->b->op[f->args[i]];
}

static bool is_int_type(sett_dtype dtype)
{
    return dtype == SETT_BOOL || sett__dtype_is_int(dtype);
}

/* NULL: not a scalar integer. */
static const sett__known *facts(sett_build *b, uint32_t id, sett__known *room)
{
    const sett__op *op = &b->op[id];
    if (op->n != 1 || !is_int_type((sett_dtype)op->dtype))
        return NULL;
    *room = sett__know(b, id);
    return room;
}

static void take_facts(fold *f)
{
    for (int i = 0; i < 2; i++)
        f->v[i] = facts(f->b, f->args[i], &f->known[i]);
}

static bool one_number(sett_build *b, uint32_t id, int64_t *number)
{
    sett__known room;
    const sett__known *v = facts(b, id, &room);
    if (!v || v->lo != v->hi)
        return false;
    *number = v->lo;
    return true;
}

/* ---- results ------------------------------------------------------------------ */
static uint32_t record_constant(const fold *f, sett_dtype dtype, uint64_t bits)
{
    return sett__record(f->b, f->site,
        &(sett__emit){.code = SETT__CONST, .dtype = dtype, .n = 1, .imm = (int64_t)bits});
}

static uint32_t record_number(const fold *f, int64_t i)
{
    if (f->x->n != 1)
        return NONE;
    return record_constant(f, f->x->dtype, sett__bits_of_int(f->x->dtype, i));
}

/* Operand i stands for the result. */
static uint32_t operand(const fold *f, int i)
{
    uint32_t n = op_of(f, i)->n;
    if (n == f->x->n)
        return f->args[i];
    return n == 1 ? sett__splat(f->b, f->site, f->args[i], f->x->n) : NONE;
}

static uint32_t binary(const fold *f, sett__code code, uint32_t a, int64_t c)
{
    sett_dtype dtype = f->dtype;
    uint32_t args[2] = {a, record_constant(f, dtype, sett__bits_of_int(dtype, c))};
    return sett__record(f->b, f->site,
        &(sett__emit){.code = code, .dtype = f->x->dtype, .n = f->x->n, .n_args = 2, .args = args,
            .n_attrs = sett__ops[code].list == SETT__LIST_NATURAL ? f->x->n_attrs : 0, .attrs = f->x->attrs});
}

/* ---- constants ------------------------------------------------------------------- */
static uint32_t fold_constants(const fold *f)
{
    uint64_t in[3], out;
    if (f->x->n != 1 || f->x->n_args > 3)
        return NONE;
    for (int i = 0; i < f->x->n_args; i++) {
        if (op_of(f, i)->code != SETT__CONST)
            return NONE;
        in[i] = (uint64_t)op_of(f, i)->imm;
    }
    if (!sett__eval(f->x->code, f->dtype, f->x->dtype, in, f->x->n_args, &out))
        return NONE;
    return record_constant(f, f->x->dtype, out);
}

/* Elementwise ops look through a repeated scalar: one op of fewer elements does. */
static bool is_splat(const fold *f, int i)
{
    const sett__op *op = op_of(f, i);
    return op->code == SETT__PICK && f->b->op[f->b->arg[op->args]].n == 1;
}

static uint32_t fold_splats(const fold *f)
{
    int wide = 0, splats = 0;
    if (f->x->n == 1)
        return NONE;
    for (int i = 0; i < f->x->n_args; i++) {
        splats += is_splat(f, i);
        wide += op_of(f, i)->n == f->x->n && !is_splat(f, i);
    }
    if (!splats)
        return NONE;
    for (int i = 0; i < f->x->n_args; i++)
        if (is_splat(f, i))
            f->args[i] = f->b->arg[op_of(f, i)->args];
    if (wide)
        return NONE; /* rewritten: recorded with the scalars in place */
    sett__emit one = *f->x;
    one.n = 1;
    return sett__splat(f->b, f->site, sett__record(f->b, f->site, &one), f->x->n);
}

/* ---- integers ---------------------------------------------------------------------- */
static bool commutes(sett__code code)
{
    return code == SETT__ADD || code == SETT__MUL || code == SETT__AND || code == SETT__OR || code == SETT__XOR ||
           code == SETT__MIN || code == SETT__MAX;
}

static bool known_natural(const fold *f, int i)
{
    return f->v[i] && f->v[i]->lo >= 0;
}

/* Operand 0 is `code` by a constant: that constant and what it is applied to. */
static bool chained_constant(const fold *f, sett__code code, uint32_t *inner, int64_t *c)
{
    const sett__op *op = op_of(f, 0);
    if (op->code != code || op->n != f->x->n || !one_number(f->b, f->b->arg[op->args + 1], c))
        return false;
    *inner = f->b->arg[op->args];
    return true;
}

static bool same_operands(const fold *f)
{
    return f->args[0] == f->args[1];
}

/* c1 op c2 wraps as the two ops one after the other do. */
static uint32_t fold_add(const fold *f)
{
    uint32_t inner;
    int64_t c;
    if (f->is_const && f->c == 0)
        return operand(f, 0);
    if (f->is_const && chained_constant(f, SETT__ADD, &inner, &c))
        return binary(f, SETT__ADD, inner, (int64_t)((uint64_t)c + (uint64_t)f->c));
    return NONE;
}

static uint32_t fold_sub(const fold *f)
{
    uint32_t inner;
    int64_t c;
    if (f->is_const && f->c == 0)
        return operand(f, 0);
    if (same_operands(f))
        return record_number(f, 0);
    if (f->is_const && chained_constant(f, SETT__ADD, &inner, &c))
        return binary(f, SETT__ADD, inner, (int64_t)((uint64_t)c - (uint64_t)f->c));
    return NONE;
}

static uint32_t fold_mul(const fold *f)
{
    uint32_t inner;
    int64_t c;
    if (!f->is_const)
        return NONE;
    if (f->c == 0)
        return record_number(f, 0);
    if (f->c == 1)
        return operand(f, 0);
    if (chained_constant(f, SETT__MUL, &inner, &c))
        return binary(f, SETT__MUL, inner, (int64_t)((uint64_t)c * (uint64_t)f->c));
    return NONE;
}

/* x = y*m + z without wrapping, 0 <= z < m, y >= 0, c divides m. z NONE: there is none. */
static bool is_tiled(const fold *f, uint32_t *y, int64_t *m, uint32_t *z)
{
    sett_build *b = f->b;
    uint32_t mul = f->args[0];
    const sett__op *op = &b->op[mul];
    *z = NONE;
    if (!f->is_const || f->c <= 0 || !sett__no_wrap(b, mul))
        return false;
    if (op->code == SETT__ADD) {
        uint32_t l = b->arg[op->args], r = b->arg[op->args + 1];
        mul = b->op[l].code == SETT__MUL ? l : r;
        *z = mul == l ? r : l;
        sett__known room;
        const sett__known *rest = facts(b, *z, &room);
        if (!rest || rest->lo < 0 || rest->hi >= f->c || !sett__no_wrap(b, mul))
            return false;
        op = &b->op[mul];
    }
    if (op->code != SETT__MUL || !one_number(b, b->arg[op->args + 1], m))
        return false;
    *y = b->arg[op->args];
    sett__known room;
    const sett__known *v = facts(b, *y, &room);
    return v && v->lo >= 0 && *m > 0 && *m % f->c == 0;
}

static uint32_t fold_div(const fold *f)
{
    uint32_t y, z;
    int64_t c;
    bool positive = known_natural(f, 0) && f->v[1] && f->v[1]->lo > 0;
    if (f->is_const && f->c == 1)
        return operand(f, 0);
    if (positive && f->v[0]->hi < f->v[1]->lo)
        return record_number(f, 0);
    if (is_tiled(f, &y, &c, &z))
        return binary(f, SETT__MUL, y, c / f->c);
    if (positive && f->is_const && chained_constant(f, SETT__DIV, &y, &c) && c > 0 && known_natural(f, 0) &&
        !__builtin_mul_overflow(c, f->c, &c) && sett__int_of_bits(f->dtype, sett__bits_of_int(f->dtype, c)) == c) {
        sett__known room;
        const sett__known *v = facts(f->b, y, &room);
        if (v && v->lo >= 0)
            return binary(f, SETT__DIV, y, c);
    }
    if (positive)
        f->x->n_attrs = 1, f->x->attrs = sett__nonneg;
    bool shifts = positive || f->x->n_attrs || sett__dtype_kind(f->dtype) == 'u';
    if (f->is_const && sett__log2_of(f->c) > 0 && shifts)
        return binary(f, SETT__SHR, f->args[0], sett__log2_of(f->c));
    return NONE;
}

static uint32_t fold_rem(const fold *f)
{
    uint32_t y, z;
    int64_t m;
    bool positive = known_natural(f, 0) && f->v[1] && f->v[1]->lo > 0;
    if (f->is_const && f->c == 1)
        return record_number(f, 0);
    if (positive && f->v[0]->hi < f->v[1]->lo)
        return operand(f, 0);
    if (is_tiled(f, &y, &m, &z))
        return z == NONE ? record_number(f, 0) : z;
    if (positive)
        f->x->n_attrs = 1, f->x->attrs = sett__nonneg;
    if (!f->is_const || sett__log2_of(f->c) < 0)
        return NONE;
    if (f->v[0] && (f->v[0]->div & (f->c - 1)) == 0)
        return record_number(f, 0);
    if (positive || f->x->n_attrs || sett__dtype_kind(f->dtype) == 'u')
        return binary(f, SETT__AND, f->args[0], f->c - 1);
    return NONE;
}

/* Ranges order the operands; those of an unknown u64 say nothing. */
static bool ordered_by_range(const fold *f)
{
    return f->v[0] && f->v[1] && (f->dtype != SETT_U64 || (known_natural(f, 0) && known_natural(f, 1)));
}

static uint32_t fold_minmax(const fold *f)
{
    if (same_operands(f))
        return operand(f, 0);
    if (!ordered_by_range(f))
        return NONE;
    int least = f->v[0]->hi <= f->v[1]->lo ? 0 : f->v[1]->hi <= f->v[0]->lo ? 1 : -1;
    if (least < 0)
        return NONE;
    return operand(f, f->x->code == SETT__MIN ? least : !least);
}

static uint32_t fold_bits(const fold *f)
{
    int64_t ones = f->dtype == SETT_BOOL ? 1 : sett__int_of_bits(f->dtype, sett__bits_of_int(f->dtype, -1));
    sett__code code = f->x->code;
    if (same_operands(f))
        return code == SETT__XOR ? record_number(f, 0) : operand(f, 0);
    if (!f->is_const)
        return NONE;
    if (f->c == 0)
        return code == SETT__AND ? record_number(f, 0) : operand(f, 0);
    if (f->c == ones && code != SETT__XOR)
        return code == SETT__AND ? operand(f, 0) : record_number(f, ones);
    if (code != SETT__AND || !known_natural(f, 0) || f->c < 0 || f->c == INT64_MAX || sett__log2_of(f->c + 1) < 0)
        return NONE;
    if (f->v[0]->hi <= f->c)
        return operand(f, 0);
    return (f->v[0]->div & f->c) == 0 ? record_number(f, 0) : NONE;
}

static uint32_t fold_shift(const fold *f)
{
    int64_t x;
    if (f->is_const && f->c == 0)
        return operand(f, 0);
    if (one_number(f->b, f->args[0], &x) && x == 0)
        return record_number(f, 0);
    if (f->x->code == SETT__SHR && f->is_const && f->c > 0 && f->c < 63 && known_natural(f, 0) && f->v[0]->hi >> f->c == 0)
        return record_number(f, 0);
    return NONE;
}

static bool is_number(const sett__known *k)
{
    return k && k->lo == k->hi;
}

static void swap_args(fold *f)
{
    const sett__known *v = f->v[0];
    uint32_t t = f->args[0];
    f->args[0] = f->args[1];
    f->args[1] = t;
    f->v[0] = f->v[1];
    f->v[1] = v;
}

/* Constants last, and equal sums of two spellings are one op. */
static void order_args(fold *f)
{
    bool left = is_number(f->v[0]), right = is_number(f->v[1]);
    if (left != right ? left : f->args[0] > f->args[1])
        swap_args(f);
}

static uint32_t fold_binary(fold *f)
{
    if (!is_int_type(f->dtype))
        return NONE;
    sett__code code = f->x->code;
    take_facts(f);
    if (commutes(code))
        order_args(f);
    f->is_const = is_number(f->v[1]);
    f->c = f->is_const ? f->v[1]->lo : 0;
    switch (code) {
    case SETT__ADD: return fold_add(f);
    case SETT__SUB: return fold_sub(f);
    case SETT__MUL: return fold_mul(f);
    case SETT__DIV: return fold_div(f);
    case SETT__REM: return fold_rem(f);
    case SETT__MIN:
    case SETT__MAX: return fold_minmax(f);
    case SETT__AND:
    case SETT__OR:
    case SETT__XOR: return fold_bits(f);
    default: return fold_shift(f);
    }
}

/* ---- comparisons, selects, conversions ---------------------------------------------- */
static sett__code mirrored(sett__code code)
{
    switch (code) {
    case SETT__LT: return SETT__GT;
    case SETT__LE: return SETT__GE;
    case SETT__GT: return SETT__LT;
    case SETT__GE: return SETT__LE;
    default: return code;
    }
}

/* 1, 0, or -1: not decided by what is known. */
static int decided_compare(const fold *f, sett__code code, const sett__known *a, const sett__known *c)
{
    if (same_operands(f))
        return code == SETT__LE || code == SETT__GE || code == SETT__EQ;
    if (!ordered_by_range(f))
        return -1;
    switch (code) {
    case SETT__LT: return a->hi < c->lo ? 1 : a->lo >= c->hi ? 0 : -1;
    case SETT__LE: return a->hi <= c->lo ? 1 : a->lo > c->hi ? 0 : -1;
    case SETT__GT:
    case SETT__GE: return decided_compare(f, mirrored(code), c, a);
    default:
        if (a->hi < c->lo || c->hi < a->lo)
            return code == SETT__NE;
        return a->lo == a->hi && c->lo == c->hi ? code == SETT__EQ : -1;
    }
}

static uint32_t fold_compare(fold *f)
{
    int64_t c;
    if (op_of(f, 0)->code == SETT__CONST && op_of(f, 1)->code != SETT__CONST) {
        swap_args(f);
        f->x->code = mirrored(f->x->code);
    }
    if (!is_int_type(f->dtype))
        return NONE;
    take_facts(f);
    int known = decided_compare(f, f->x->code, f->v[0], f->v[1]);
    if (known >= 0)
        return record_number(f, known);
    bool is = f->dtype == SETT_BOOL && one_number(f->b, f->args[1], &c);
    if (is && ((f->x->code == SETT__EQ && c) || (f->x->code == SETT__NE && !c)))
        return operand(f, 0);
    return NONE;
}

static uint32_t fold_select(const fold *f)
{
    int64_t cond, x, y;
    if (one_number(f->b, f->args[0], &cond))
        return operand(f, cond ? 1 : 2);
    if (f->args[1] == f->args[2])
        return operand(f, 1);
    bool whole = f->x->dtype == SETT_BOOL && op_of(f, 0)->n == f->x->n;
    if (whole && one_number(f->b, f->args[1], &x) && one_number(f->b, f->args[2], &y) && x && !y)
        return f->args[0];
    return NONE;
}

static uint32_t fold_unary(const fold *f)
{
    const sett__op *in = op_of(f, 0);
    sett__code code = f->x->code;
    if (in->code == code && (code == SETT__NOT || code == SETT__NEG))
        return f->b->arg[in->args];
    sett__known room;
    const sett__known *v = facts(f->b, f->args[0], &room);
    return code == SETT__ABS && v && v->lo >= 0 ? f->args[0] : NONE;
}

static bool keeps_value(sett_build *b, uint32_t id, sett_dtype to)
{
    int64_t lo, hi;
    sett__known room;
    const sett__known *v = facts(b, id, &room);
    if (!v || to == SETT_BOOL)
        return false;
    sett__dtype_range(to, &lo, &hi);
    bool known = v->dtype != SETT_U64 || v->lo >= 0;
    return known && v->lo >= (sett__dtype_kind(to) == 'u' ? 0 : lo) && v->hi <= hi;
}

static uint32_t fold_convert(const fold *f)
{
    sett_build *b = f->b;
    if (f->dtype == f->x->dtype)
        return f->args[0];
    const sett__op *in = op_of(f, 0);
    if (in->code != f->x->code)
        return NONE;
    uint32_t from = b->arg[in->args];
    bool bits = f->x->code == SETT__BITCAST;
    if (!bits && !(is_int_type(f->x->dtype) && is_int_type(f->dtype) && keeps_value(b, from, f->dtype)))
        return NONE;
    return sett__record(b, f->site,
        &(sett__emit){.code = f->x->code, .dtype = f->x->dtype, .n = f->x->n, .n_args = 1, .args = &from});
}

/* ---- elements ----------------------------------------------------------------------- */
/* A PICK that stays inside one operand of a PACK is a PICK of that operand. */
static uint32_t pick_of_pack(const fold *f, const sett__op *pack)
{
    sett_build *b = f->b;
    uint32_t *idx = b->index + f->x->imm, first = 0;
    for (int k = 0; k < pack->n_args; k++) {
        uint32_t id = b->arg[pack->args + k], n = b->op[id].n, inside = 0;
        if (idx[0] >= first && idx[0] < first + n) {
            while (inside < f->x->n && idx[inside] >= first && idx[inside] < first + n)
                inside++;
            if (inside < f->x->n)
                return NONE;
            for (uint32_t i = 0; i < inside; i++)
                idx[i] -= first;
            return id;
        }
        first += n;
    }
    return NONE;
}

static bool picks_all(const fold *f, uint32_t n)
{
    const uint32_t *idx = f->b->index + f->x->imm;
    if (n != f->x->n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (idx[i] != i)
            return false;
    return true;
}

/* The indices of x are the last of the build's: they are rewritten in place. */
static uint32_t fold_pick(const fold *f)
{
    sett_build *b = f->b;
    if ((uint64_t)f->x->imm + f->x->n != b->n_index)
        return NONE;
    for (;;) {
        const sett__op *in = op_of(f, 0);
        if (picks_all(f, in->n)) {
            b->n_index = (uint32_t)f->x->imm;
            return f->args[0];
        }
        uint32_t inner = NONE;
        if (in->code == SETT__PACK)
            inner = pick_of_pack(f, in);
        else if (in->code == SETT__PICK) {
            inner = b->arg[in->args];
            for (uint32_t i = 0; i < f->x->n; i++)
                b->index[f->x->imm + i] = b->index[in->imm + b->index[f->x->imm + i]];
        }
        if (inner == NONE)
            return NONE;
        f->args[0] = inner;
    }
}

static uint32_t fold_reduce(const fold *f)
{
    if (op_of(f, 0)->n != 1)
        return NONE;
    return sett__record(f->b, f->site,
        &(sett__emit){.code = (sett__code)f->x->sub, .dtype = f->x->dtype, .n = 1, .n_args = 2,
            .args = (const uint32_t[]){f->args[1], f->args[0]}});
}

uint32_t sett__fold(sett_build *b, sett_site site, sett__emit *x, uint32_t *args, sett__operands *o)
{
    sett__class cls = (sett__class)sett__ops[x->code].cls;
    if (cls == SETT__C_INLINE || cls == SETT__C_FORM) /* what they take has its own sizes */
        return NONE;
    fold f = {.b = b, .site = site, .x = x, .args = args, .known = o->room, .v = o->in};
    if (cls == SETT__C_PICK)
        return fold_pick(&f);
    if (cls == SETT__C_PACK)
        return x->n_args == 1 ? args[0] : NONE;
    if (cls == SETT__C_REDUCE)
        return fold_reduce(&f);
    f.dtype = (sett_dtype)b->op[args[cls == SETT__C_SELECT]].dtype;
    uint32_t id = cls == SETT__C_SELECT ? NONE : fold_constants(&f);
    if (id == NONE && x->code != SETT__BITCAST)
        id = fold_splats(&f);
    if (id != NONE)
        return id;
    switch (cls) {
    case SETT__C_BINARY: return fold_binary(&f);
    case SETT__C_COMPARE: return fold_compare(&f);
    case SETT__C_SELECT: return fold_select(&f);
    case SETT__C_UNARY: return fold_unary(&f);
    case SETT__C_CONVERT: return fold_convert(&f);
    default: return NONE;
    }
}
