/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a scalar integer: its range, what divides it, and whether every
 * thread of the block has the same. Ranges hold for the wrapped result. Divisibility is
 * what alignment is derived from: its power of two survives wrapping, other factors are
 * right where nothing overflows, as in CuTe. */
#include "build.h"

typedef struct range { int64_t lo, hi; } range;

/* Of 64 bits: all of int64, which says nothing of U64. */
#define TOP(bits, kind) ((bits) - ((kind) == 'i')) /* of the sign, or above the highest bit */
#define ROW(name, id, text, bits, kind) \
    [id] = {(bits) >= 64 ? INT64_MIN : (kind) == 'i' ? -(INT64_C(1) << (TOP(bits, kind) & 63)) : 0, \
        (bits) >= 64 ? INT64_MAX : (INT64_C(1) << (TOP(bits, kind) & 63)) - 1},
static const range ranges[] = {SETT_DTYPES(ROW)};
#undef ROW
#undef TOP

static range all_of(sett_dtype dtype)
{
    return ranges[dtype];
}

void sett__dtype_range(sett_dtype dtype, int64_t *lo, int64_t *hi)
{
    *lo = ranges[dtype].lo;
    *hi = ranges[dtype].hi;
}

static bool is_known(sett_dtype dtype, range r)
{
    return dtype != SETT_U64 || r.lo >= 0;
}

static sett__known known_of(const sett_val *v)
{
    return (sett__known){v->lo, v->hi, v->div, (sett_dtype)v->dtype};
}

static sett__known known_at(sett_build *b, const sett__op *op, int i)
{
    return sett__know(b, b->arg[op->args + i]);
}

static range of(sett__known k)
{
    return (range){k.lo, k.hi};
}

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The least 2^k-1 that is at least x >= 0. */
static int64_t all_ones(int64_t x)
{
    int64_t m = 0;
    while (m < x)
        m = m * 2 + 1;
    return m;
}

/* False: may wrap in 64 bits. */
static bool mul_range(range a, range c, range *r)
{
    int64_t p[4];
    if (__builtin_mul_overflow(a.lo, c.lo, &p[0]) || __builtin_mul_overflow(a.lo, c.hi, &p[1]) ||
        __builtin_mul_overflow(a.hi, c.lo, &p[2]) || __builtin_mul_overflow(a.hi, c.hi, &p[3]))
        return false;
    r->lo = min_of(min_of(p[0], p[1]), min_of(p[2], p[3]));
    r->hi = max_of(max_of(p[0], p[1]), max_of(p[2], p[3]));
    return true;
}

/* Exact range of the unwrapped result; false: not known. Both operands' ranges hold. */
static bool binary_range(sett__code code, range a, range c, range *r)
{
    bool natural = a.lo >= 0 && c.lo >= 0;
    switch (code) {
    case SETT__ADD:
        return !__builtin_add_overflow(a.lo, c.lo, &r->lo) && !__builtin_add_overflow(a.hi, c.hi, &r->hi);
    case SETT__SUB:
        return !__builtin_sub_overflow(a.lo, c.hi, &r->lo) && !__builtin_sub_overflow(a.hi, c.lo, &r->hi);
    case SETT__MUL:
        return mul_range(a, c, r);
    case SETT__DIV:
        *r = (range){c.hi > 0 ? a.lo / c.hi : 0, c.lo > 0 ? a.hi / c.lo : 0};
        return natural && c.lo > 0;
    case SETT__REM:
        if (c.lo < 1)
            return false;
        *r = (range){a.lo >= 0 ? 0 : max_of(a.lo, 1 - c.hi), a.hi < 0 ? 0 : min_of(a.hi, c.hi - 1)};
        return true;
    case SETT__MIN:
        *r = (range){min_of(a.lo, c.lo), min_of(a.hi, c.hi)};
        return true;
    case SETT__MAX:
        *r = (range){max_of(a.lo, c.lo), max_of(a.hi, c.hi)};
        return true;
    case SETT__AND:
        *r = (range){0, a.lo < 0 ? c.hi : c.lo < 0 ? a.hi : min_of(a.hi, c.hi)};
        return a.lo >= 0 || c.lo >= 0;
    case SETT__OR:
    case SETT__XOR:
        *r = (range){0, natural ? all_ones(max_of(a.hi, c.hi)) : 0};
        return natural;
    case SETT__SHL:
        return c.lo == c.hi && c.lo >= 0 && c.lo < 63 &&
               mul_range(a, (range){INT64_C(1) << c.lo, INT64_C(1) << c.lo}, r);
    case SETT__SHR:
        *r = (range){a.lo >= 0 ? 0 : a.lo, a.hi < 0 ? -1 : a.hi};
        if (c.lo == c.hi && c.lo >= 0 && c.lo < 63)
            *r = (range){a.lo >> c.lo, a.hi >> c.lo};
        return true;
    default:
        return false;
    }
}

bool sett__no_wrap(sett_build *b, uint32_t id)
{
    const sett__op *op = &b->op[id];
    sett_dtype dtype = (sett_dtype)op->dtype;
    range r, all = all_of(dtype);
    if ((op->code != SETT__ADD && op->code != SETT__SUB && op->code != SETT__MUL) || op->n != 1 ||
        !sett__dtype_is_int(dtype))
        return false;
    range a = of(known_at(b, op, 0)), c = of(known_at(b, op, 1));
    if (!is_known(dtype, a) || !is_known(dtype, c) || !binary_range((sett__code)op->code, a, c, &r))
        return false;
    return r.lo >= (dtype == SETT_U64 ? 0 : all.lo) && r.hi <= all.hi;
}

/* Limits of what the hardware counts; the block's may be known. */
static range sreg_range(const sett_build *b, const sett__op *op)
{
    int64_t block = b->block_size[op->sub], most = op->sub == 2 ? 64 : 1024, grid = op->sub ? 65535 : INT32_MAX;
    switch (op->code) {
    case SETT__TID:
        return (range){0, (block ? block : most) - 1};
    case SETT__BDIM:
        return block ? (range){block, block} : (range){1, most};
    case SETT__BID:
        return (range){0, grid - 1};
    case SETT__GDIM:
        return (range){1, grid};
    default: /* LANE */
        return (range){0, 31};
    }
}

/* Of the ids of clusters. What sett_cluster gave is static. */
static range cluster_range(const sett_build *b, const sett__op *op)
{
    const int dim = op->code == SETT__CLUSTER_CTAID || op->code == SETT__CLUSTER_NCTAID ? sett__attr(b->arg, op, SETT__AT_CLUSTER_DIM) : -1;
    int64_t n = 1;
    for (int d = 0; d < 3; d++)
        n *= (dim < 0 || dim == d) && b->cluster[d] ? b->cluster[d]->hi : 1;
    switch (op->code) {
    case SETT__CLUSTER_CTAID:
    case SETT__CLUSTER_CTARANK:
        return (range){0, n - 1};
    case SETT__CLUSTER_NCTAID:
    case SETT__CLUSTER_NCTARANK:
        return (range){n, n};
    case SETT__CLUSTERID:
        return (range){0, INT32_MAX - 1};
    case SETT__NCLUSTERID:
        return (range){1, INT32_MAX};
    default:
        return all_of((sett_dtype)op->dtype);
    }
}

/* A step that would pass the type's end, or that goes down, ends the loop: so the body sees the variable rise from the first
 * bound and stay below the second. Only from below zero a step that is negative as a signed number can be taken, as the
 * large one that it is without a sign. */
static range loop_range(sett_build *b, const sett__op *op)
{
    range lo = of(known_at(b, op, 0)), hi = of(known_at(b, op, 1)), step = of(known_at(b, op, 2));
    bool rises = lo.lo >= 0 || step.lo >= 0;
    return (range){rises ? lo.lo : all_of((sett_dtype)op->dtype).lo, max_of(lo.lo, hi.hi > INT64_MIN ? hi.hi - 1 : hi.hi)};
}

static range unary_range(sett__code code, range a, range all)
{
    if (code == SETT__NEG && a.lo > INT64_MIN)
        return (range){-a.hi, -a.lo};
    if (code == SETT__ABS && a.lo > all.lo)
        return (range){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, max_of(a.hi, -a.lo)};
    return all;
}

/* What would wrap is not known. */
static range in_type(sett_dtype dtype, range r)
{
    range all = all_of(dtype);
    return r.lo >= (dtype == SETT_U64 ? 0 : all.lo) && r.hi <= all.hi ? r : all;
}

/* Of an operation of one operand, of three or of none. */
static range range_of(sett_build *b, const sett__op *op)
{
    sett_dtype dtype = (sett_dtype)op->dtype;
    range all = all_of(dtype), r = all, a, c;
    switch (sett__ops[op->code].cls) {
    case SETT__C_SREG:
        return sreg_range(b, op);
    case SETT__C_FORM:
        return cluster_range(b, op);
    case SETT__C_SYM:
        return (range){0, all.hi};
    case SETT__C_UNARY:
        a = of(known_at(b, op, 0));
        r = is_known(dtype, a) ? unary_range((sett__code)op->code, a, all) : all;
        break;
    case SETT__C_SELECT:
        a = of(known_at(b, op, 1));
        c = of(known_at(b, op, 2));
        return (range){min_of(a.lo, c.lo), max_of(a.hi, c.hi)};
    case SETT__C_CONVERT: {
        sett__known from = known_at(b, op, 0);
        if (op->code != SETT__CONVERT || (from.dtype != SETT_BOOL && !sett__dtype_is_int(from.dtype)))
            return all;
        r = of(from);
        if (!is_known(from.dtype, r))
            return all;
        break;
    }
    case SETT__C_FOR:
        return loop_range(b, op);
    default:
        return all;
    }
    return in_type(dtype, r);
}

/* ---- divisibility: 0 for zero, which everything divides -------------------------------- */
static int64_t binary_div(sett__code code, sett__known x, sett__known y)
{
    int64_t a = x.div, b = y.div, product;
    switch (code) {
    case SETT__ADD:
    case SETT__SUB:
    case SETT__REM:
    case SETT__MIN:
    case SETT__MAX:
        return sett__gcd(a, b);
    case SETT__MUL:
        return __builtin_mul_overflow(a, b, &product) ? max_of(a, b) : product;
    case SETT__DIV: /* by a constant that divides what divides x */
        return y.lo == y.hi && y.lo > 0 && a % y.lo == 0 ? a / y.lo : 1;
    default:
        return 1;
    }
}

static int64_t div_of(sett_build *b, const sett__op *op)
{
    switch (sett__ops[op->code].cls) {
    case SETT__C_SYM:
        return b->sig.sym[op->imm].div;
    case SETT__C_SELECT:
        return sett__gcd(known_at(b, op, 1).div, known_at(b, op, 2).div);
    case SETT__C_CONVERT: {
        sett__known from = known_at(b, op, 0);
        return op->code == SETT__CONVERT && sett__dtype_is_int(from.dtype) ? from.div : 1;
    }
    case SETT__C_FOR:
        return sett__gcd(known_at(b, op, 0).div, known_at(b, op, 2).div);
    default:
        return 1;
    }
}

static bool uniform_of(sett_build *b, const sett__op *op)
{
    if (op->code == SETT__TID || op->code == SETT__LANE)
        return false;
    if (!(sett__ops[op->code].flags & SETT__P) && op->code != SETT__FOR)
        return false;
    for (int i = 0; i < op->n_args; i++) {
        uint32_t id = b->arg[op->args + i];
        const sett_val *v = b->val_of[id];
        if (v ? !v->uniform : b->op[id].code != SETT__CONST)
            return false;
    }
    return true;
}

static sett__known number_facts(const sett__op *op)
{
    sett_dtype dtype = (sett_dtype)op->dtype;
    int64_t x = dtype == SETT_I32 ? (int32_t)op->imm : sett__int_of_bits(dtype, (uint64_t)op->imm);
    if (dtype == SETT_U64 && x < 0)
        return (sett__known){INT64_MIN, INT64_MAX, 1, dtype};
    return (sett__known){x, x, x == INT64_MIN ? 1 : x < 0 ? -x : x, dtype};
}

/* div: unless the range is one number, which may be what folds to a constant. */
static sett__known with_div(sett_dtype dtype, range r, int64_t div)
{
    if (r.lo == r.hi)
        div = r.lo == INT64_MIN ? 1 : r.lo < 0 ? -r.lo : r.lo;
    else if (div < 1)
        div = 1;
    return (sett__known){r.lo, r.hi, div, dtype};
}

static sett__known binary_facts(sett__code code, sett_dtype dtype, sett__known x, sett__known y)
{
    range r;
    bool have = is_known(dtype, of(x)) && is_known(dtype, of(y)) && binary_range(code, of(x), of(y), &r);
    return with_div(dtype, have ? in_type(dtype, r) : all_of(dtype), binary_div(code, x, y));
}

static sett__known facts_of(sett_build *b, const sett__op *op)
{
    sett_dtype dtype = (sett_dtype)op->dtype;
    if (op->code == SETT__CONST)
        return number_facts(op);
    if (sett__ops[op->code].cls == SETT__C_BINARY)
        return binary_facts((sett__code)op->code, dtype, known_at(b, op, 0), known_at(b, op, 1));
    return with_div(dtype, range_of(b, op), div_of(b, op));
}

sett__known sett__know_op(sett_build *b, uint32_t id)
{
    return b->op[id].code == SETT__CONST ? number_facts(&b->op[id]) : known_of(sett__scalar_val(b, id));
}

void sett__facts(sett_build *b, sett_val *v, const sett__operands *o)
{
    const sett__op *op = &b->op[v->id];
    if (op->n == 1 && (op->dtype == SETT_BOOL || sett__dtype_is_int((sett_dtype)op->dtype))) {
        bool both = o && o->in[0] && o->in[1] && sett__ops[op->code].cls == SETT__C_BINARY;
        sett__known k = both ? binary_facts((sett__code)op->code, (sett_dtype)op->dtype, *o->in[0], *o->in[1]) : facts_of(b, op);
        v->lo = k.lo;
        v->hi = k.hi;
        v->div = k.div;
    }
    v->uniform = uniform_of(b, op);
}

/* Operands may be views that sett_assume knows more of than the ops behind them. */
sett_val *sett__op2_at(sett_build *b, sett_site site, uint32_t at, sett__code code, bool nonneg, sett_val *x, sett_val *y)
{
    sett_dtype to = sett__ops[code].cls == SETT__C_COMPARE ? SETT_BOOL : (sett_dtype)x->dtype;
    const sett_val *wide = y->n > x->n ? y : x;
    bool scalar = x->scalar && y->scalar;
    if (code == SETT__REM && scalar && y->lo == y->hi && y->lo > 0 && x->div % y->lo == 0)
        return sett__const_bits(b, site, to, 0);
    uint32_t id = sett__record(b, site,
        &(sett__emit){.code = code, .dtype = to, .n_attrs = nonneg, .attrs = sett__nonneg, .n = wide->n, .n_args = 2,
            .args = (const uint32_t[]){x->id, y->id}, .at = at});
    sett_val *v = scalar ? sett__scalar_val(b, id) : sett__val(b, id, wide->scalar ? y->shape : wide->shape, false);
    if (b->error.status || !v->scalar || !sett__dtype_is_int(to) || v->lo == v->hi)
        return v;
    int64_t div = binary_div(code, known_of(x), known_of(y));
    if (div <= v->div)
        return v;
    sett_val *view = sett__new(b, sizeof *view);
    *view = *v;
    view->div = div;
    return view;
}

sett_val *sett__op2(sett_build *b, sett_site site, sett__code code, bool nonneg, sett_val *x, sett_val *y)
{
    return sett__op2_at(b, site, 0, code, nonneg, x, y);
}
