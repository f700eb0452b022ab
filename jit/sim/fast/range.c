/* SPDX-License-Identifier: Apache-2.0 */
/* What is true of a run of blocks before any of them runs: for each integer that a test depends on, an
 * interval and its low bits. Coordinates are sums and products of the block's and the thread's index, so that
 * this proves most tests of bounds for all blocks but those at the edges, at the cost of some scalar
 * operations for many blocks. Intervals only ever err towards "not known". */
#include "holds.h"
#include <stdlib.h>
#include <string.h>

typedef sett__range range;

static uint64_t low(unsigned bits)
{
    return bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
}

static unsigned zeros(uint64_t x)
{
    return x ? (unsigned)__builtin_ctzll(x) : 64;
}

static unsigned width_of(uint8_t dtype)
{
    return dtype == SETT_BOOL ? 1 : (unsigned)sett_dtype_bits(dtype);
}

static int64_t smallest(uint8_t dtype)
{
    return sett__dtype_kind(dtype) == 'i' ? (int64_t)(~(uint64_t)0 << (width_of(dtype) - 1)) : 0;
}

static int64_t largest(uint8_t dtype)
{
    return (int64_t)low(width_of(dtype) - (sett__dtype_kind(dtype) == 'i'));
}

static range exactly(int64_t x)
{
    return (range){x, x, (uint64_t)x, 64};
}

static range between(int64_t lo, int64_t hi)
{
    return lo == hi ? exactly(lo) : (range){lo, hi, 0, 0};
}

static range anything(uint8_t dtype)
{
    return between(smallest(dtype), largest(dtype));
}

static bool is_exact(range r)
{
    return r.lo == r.hi;
}

/* A result whose interval may have left its type has wrapped; its low bits are what they were. */
static range settle(range r, bool wrapped, uint8_t dtype)
{
    if (wrapped || r.lo < smallest(dtype) || r.hi > largest(dtype)) {
        r.lo = smallest(dtype), r.hi = largest(dtype);
        r.bits = (uint8_t)sett__least(r.bits, width_of(dtype));
    }
    uint64_t up = (r.rest - (uint64_t)r.lo) & low(r.bits), down = ((uint64_t)r.hi - r.rest) & low(r.bits);
    uint64_t room = (uint64_t)r.hi - (uint64_t)r.lo;
    if (up <= room && down <= room - up)
        r.lo = (int64_t)((uint64_t)r.lo + up), r.hi = (int64_t)((uint64_t)r.hi - down);
    if (is_exact(r))
        return exactly(r.lo);
    r.rest &= low(r.bits);
    return r;
}

/* ---- operations ------------------------------------------------------------------------ */
static range sum(range a, range b, uint8_t dtype)
{
    range r = {.rest = a.rest + b.rest, .bits = (uint8_t)sett__least(a.bits, b.bits)};
    bool wrapped = __builtin_add_overflow(a.lo, b.lo, &r.lo);
    wrapped |= __builtin_add_overflow(a.hi, b.hi, &r.hi);
    return settle(r, wrapped, dtype);
}

static range difference(range a, range b, uint8_t dtype)
{
    range r = {.rest = a.rest - b.rest, .bits = (uint8_t)sett__least(a.bits, b.bits)};
    bool wrapped = __builtin_sub_overflow(a.lo, b.hi, &r.lo);
    wrapped |= __builtin_sub_overflow(a.hi, b.lo, &r.hi);
    return settle(r, wrapped, dtype);
}

/* (p + 2^m x) (q + 2^n y): known up to the least of 2^m q, 2^n p and 2^(m + n). */
static range product(range a, range b, uint8_t dtype)
{
    unsigned bits = sett__least(sett__least(a.bits + zeros(b.rest), b.bits + zeros(a.rest)), a.bits + b.bits);
    const int64_t x[4] = {a.lo, a.lo, a.hi, a.hi}, y[4] = {b.lo, b.hi, b.lo, b.hi};
    range r = {INT64_MAX, INT64_MIN, a.rest * b.rest, (uint8_t)sett__least(bits, 64)};
    bool wrapped = false;
    for (int i = 0; i < 4; i++) {
        int64_t p;
        wrapped |= __builtin_mul_overflow(x[i], y[i], &p);
        r.lo = p < r.lo ? p : r.lo;
        r.hi = p > r.hi ? p : r.hi;
    }
    return settle(r, wrapped, dtype);
}

/* By a constant above 0: quotients go the same way as dividends. */
static range quotient(range a, range b, uint8_t dtype)
{
    return is_exact(b) && b.lo > 0 ? between(a.lo / b.lo, a.hi / b.lo) : anything(dtype);
}

static range remainder_(range a, range b, uint8_t dtype)
{
    if (!is_exact(b) || b.lo <= 0)
        return anything(dtype);
    if (a.lo < 0)
        return between(-(b.lo - 1), b.lo - 1);
    if (a.hi < b.lo)
        return a;
    return settle((range){0, b.lo - 1, a.rest, (uint8_t)sett__least(a.bits, zeros((uint64_t)b.lo))}, false, dtype);
}

static range shift_left(range a, range b, uint8_t dtype)
{
    bool known = is_exact(b) && b.lo >= 0 && b.lo < (int64_t)width_of(dtype) && b.lo < 63;
    return known ? product(a, exactly((int64_t)1 << b.lo), dtype) : anything(dtype);
}

static range shift_right(range a, range b, uint8_t dtype)
{
    if (!is_exact(b) || b.lo < 0 || b.lo >= (int64_t)width_of(dtype))
        return anything(dtype);
    unsigned by = (unsigned)b.lo;
    return settle(
        (range){a.lo >> by, a.hi >> by, a.rest >> by, (uint8_t)(a.bits > by ? a.bits - by : 0)}, false, dtype);
}

/* Below the lowest bit that is not known, and up to the highest that may be set. */
static range bitwise(sett__code code, range a, range b, uint8_t dtype)
{
    if (dtype == SETT_BOOL && code != SETT__XOR)
        return code == SETT__AND ? between(a.lo & b.lo, a.hi & b.hi) : between(a.lo | b.lo, a.hi | b.hi);
    if (is_exact(a)) {
        range known = a;
        a = b, b = known;
    }
    range r = anything(dtype);
    r.bits = (uint8_t)sett__least(a.bits, b.bits);
    r.rest = code == SETT__AND ? a.rest & b.rest : code == SETT__OR ? a.rest | b.rest : a.rest ^ b.rest;
    if (code == SETT__AND && is_exact(b) && b.lo >= 0 && !((uint64_t)b.lo & ~low(a.bits)))
        return exactly((int64_t)(a.rest & (uint64_t)b.lo));
    uint64_t top = (uint64_t)(a.hi | b.hi);
    if (code == SETT__AND && b.lo >= 0)
        r.lo = 0, r.hi = a.lo >= 0 && a.hi < b.hi ? a.hi : b.hi;
    else if (a.lo >= 0 && b.lo >= 0)
        r.lo = 0, r.hi = (int64_t)(top ? low(64 - (unsigned)__builtin_clzll(top)) : 0);
    return settle(r, false, dtype);
}

static range extreme(bool most, range a, range b)
{
    int64_t lo = (a.lo < b.lo) == most ? b.lo : a.lo, hi = (a.hi < b.hi) == most ? b.hi : a.hi;
    unsigned bits = sett__least(sett__least(a.bits, b.bits), zeros(a.rest ^ b.rest));
    return is_exact(between(lo, hi)) ? exactly(lo) : (range){lo, hi, a.rest & low(bits), (uint8_t)bits};
}

static range either(range cond, range a, range b)
{
    if (is_exact(cond))
        return cond.lo ? a : b;
    unsigned bits = sett__least(sett__least(a.bits, b.bits), zeros(a.rest ^ b.rest));
    return (range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.rest & low(bits), (uint8_t)bits};
}

static range truth(bool always, bool never)
{
    return between(always, !never);
}

static range negation(range a)
{
    return between(1 - a.hi, 1 - a.lo);
}

static range equal(range a, range b)
{
    bool apart = a.hi < b.lo || b.hi < a.lo || ((a.rest ^ b.rest) & low(sett__least(a.bits, b.bits)));
    return truth(is_exact(a) && is_exact(b) && a.lo == b.lo, apart);
}

static range convert(range a, uint8_t dtype)
{
    return dtype == SETT_BOOL ? negation(equal(a, exactly(0))) : settle(a, false, dtype);
}

/* From the first value up in steps that share a power of two; a round that would pass the end is not run. */
static range counter(range lo, range hi, range step, uint8_t dtype)
{
    if (step.lo <= 0 || hi.hi <= lo.lo)
        return anything(dtype);
    unsigned bits = sett__least(lo.bits, sett__least(step.bits, zeros(step.rest)));
    return settle((range){lo.lo, hi.hi - 1, lo.rest, (uint8_t)bits}, false, dtype);
}

static range binary(sett__code code, range a, range b, uint8_t dtype)
{
    switch (code) {
    case SETT__ADD:
        return sum(a, b, dtype);
    case SETT__SUB:
        return difference(a, b, dtype);
    case SETT__MUL:
        return product(a, b, dtype);
    case SETT__DIV:
        return quotient(a, b, dtype);
    case SETT__REM:
        return remainder_(a, b, dtype);
    case SETT__SHL:
        return shift_left(a, b, dtype);
    case SETT__SHR:
        return shift_right(a, b, dtype);
    case SETT__MIN:
    case SETT__MAX:
        return extreme(code == SETT__MAX, a, b);
    case SETT__LT:
        return truth(a.hi < b.lo, a.lo >= b.hi);
    case SETT__LE:
        return truth(a.hi <= b.lo, a.lo > b.hi);
    case SETT__GT:
        return truth(a.lo > b.hi, a.hi <= b.lo);
    case SETT__GE:
        return truth(a.lo >= b.hi, a.hi < b.lo);
    case SETT__EQ:
        return equal(a, b);
    case SETT__NE:
        return negation(equal(a, b));
    default:
        return bitwise(code, a, b, dtype);
    }
}

/* ---- facts ------------------------------------------------------------------------------- */
/* Integers and Booleans of one element, by operations that intervals go through. */
bool sett__has_range(const sett__op *o)
{
    bool whole = sett__dtype_is_int(o->dtype) && o->dtype != SETT_U64, type = whole || o->dtype == SETT_BOOL;
    switch ((sett__class)sett__ops[o->code].cls) {
    case SETT__C_SREG:
    case SETT__C_SYM:
    case SETT__C_SCALAR:
    case SETT__C_FOR:
        return whole;
    case SETT__C_CONST:
    case SETT__C_BINARY:
    case SETT__C_COMPARE:
    case SETT__C_SELECT:
        return type && o->n == 1;
    case SETT__C_CONVERT:
        return type && o->n == 1 && o->code == SETT__CONVERT;
    case SETT__C_UNARY:
        return o->dtype == SETT_BOOL && o->n == 1 && o->code == SETT__NOT;
    default:
        return false;
    }
}

static sett__fact fact_of(const sett__tape *t, const sett__fact *facts, const uint32_t *of, uint32_t v)
{
    const sett__op *o = &t->op[v];
    sett__fact f = {.code = o->code, .dtype = o->dtype, .sub = o->sub, .moves = o->code == SETT__BID, .imm = o->imm};
    if (o->code == SETT__SYM || o->code == SETT__SCALAR)
        f.imm = (int64_t)sett__packed_at(&t->sig, (uint32_t)o->imm + (o->code == SETT__SYM ? t->sig.n_param : 0));
    for (int i = 0; i < 3; i++) {
        f.arg[i] = i < o->n_args ? of[t->arg[o->args + (uint32_t)i]] : SETT__NONE;
        f.moves |= f.arg[i] != SETT__NONE && facts[f.arg[i]].moves;
    }
    return f;
}

bool sett__find_facts(sett__program *p, const uint32_t *test, uint32_t n_test)
{
    enum { NEEDED = 1, TESTED = 2 };
    const sett__tape *t = p->given;
    uint32_t *of = calloc((size_t)t->n_op + 1, sizeof *of), n = 0;
    for (uint32_t i = 0; i < n_test && of; i++)
        of[test[i]] = NEEDED | TESTED;
    for (uint32_t v = t->n_op; v-- > 0 && of;) {
        const sett__op *o = &t->op[v];
        n += of[v] != 0;
        for (int i = 0; i < o->n_args && of[v]; i++)
            of[t->arg[o->args + (uint32_t)i]] |= NEEDED;
    }
    p->fact = of ? calloc((size_t)n + 1, sizeof *p->fact) : NULL;
    for (uint32_t v = 0; v < t->n_op && p->fact; v++)
        if (of[v]) {
            bool tested = of[v] & TESTED;
            p->fact[p->n_fact] = fact_of(t, p->fact, of, v);
            p->fact[p->n_fact].test = tested;
            of[v] = p->n_fact++;
        }
    free(of);
    return p->fact;
}

/* The indices that a run of blocks has in one dimension: those of its ends, or all of them where a dimension above
 * changes on the way. */
static range block_index(const sett__sim_launch *l, int dim, uint64_t first, uint64_t last)
{
    uint64_t below = dim > 1 ? (uint64_t)l->grid[0] * l->grid[1] : dim ? l->grid[0] : 1;
    uint64_t a = first / below, b = last / below, n = l->grid[dim];
    return a / n == b / n ? between((int64_t)(a % n), (int64_t)(b % n)) : between(0, (int64_t)n - 1);
}

static range given(const sett__sim_launch *l, const sett__fact *f)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)l->params + f->imm, (size_t)sett__dtype_bytes(f->dtype));
    return exactly(sett__int_of_bits(f->dtype, bits));
}

static range special(const sett__sim_launch *l, const sett__fact *f, uint64_t first, uint64_t last)
{
    switch ((sett__code)f->code) {
    case SETT__TID:
        return between(0, (int64_t)l->block[f->sub] - 1);
    case SETT__BID:
        return block_index(l, f->sub, first, last);
    case SETT__BDIM:
        return exactly(l->block[f->sub]);
    case SETT__GDIM:
        return exactly(l->grid[f->sub]);
    default:
        return between(0, WARP - 1);
    }
}

static range look(const sett__sim_launch *l, const sett__fact *f, const range *known, uint64_t first, uint64_t last)
{
    const range none = exactly(0), *a = f->arg[0] == SETT__NONE ? &none : &known[f->arg[0]];
    const range *b = f->arg[1] == SETT__NONE ? &none : &known[f->arg[1]];
    switch ((sett__class)sett__ops[f->code].cls) {
    case SETT__C_CONST:
        return exactly(sett__int_of_bits(f->dtype, (uint64_t)f->imm));
    case SETT__C_SYM:
    case SETT__C_SCALAR:
        return given(l, f);
    case SETT__C_SREG:
        return special(l, f, first, last);
    case SETT__C_SELECT:
        return either(*a, *b, known[f->arg[2]]);
    case SETT__C_CONVERT:
        return convert(*a, f->dtype);
    case SETT__C_UNARY:
        return negation(*a);
    case SETT__C_FOR:
        return counter(*a, *b, known[f->arg[2]], f->dtype);
    default:
        return binary((sett__code)f->code, *a, *b, f->dtype);
    }
}

sett__proof sett__prove(
    const sett__program *p, const sett__sim_launch *l, sett__range *known, uint64_t from, uint64_t to)
{
    for (uint32_t k = 0; k < p->n_fact; k++) {
        const sett__fact *f = &p->fact[k];
        known[k] = look(l, f, known, from, to - 1);
        if (f->test && !known[k].lo)
            return known[k].hi && f->moves ? SETT__OPEN : SETT__NOWHERE;
    }
    SETT__HOLDS(sett__holds_proof(p, l, known, from, to));
    return SETT__EVERYWHERE;
}

#ifdef SETT_HOLDS
void sett__look_at_thread(
    const sett__program *p, const sett__sim_launch *l, const range *all, range *known, uint64_t block, uint32_t thread)
{
    for (uint32_t k = 0; k < p->n_fact; k++) {
        const sett__fact *f = &p->fact[k];
        known[k] = f->code == SETT__TID    ? exactly(sett__thread_index(l, thread, f->sub))
                   : f->code == SETT__LANE ? exactly(thread % WARP)
                   : f->code == SETT__FOR  ? all[k]
                                           : look(l, f, known, block, block);
    }
}
#endif
