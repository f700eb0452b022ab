/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments to symbols, every check that a launch promises, the packed parameter block and the launch's dimensions: all of it once,
 * for launches, prepared calls and both engines. On the launch path: no allocation, no formatting and, of what is usual, no
 * look at the signature: the plan has it. A check that fails words its error there and then. */
#include "binder.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What .wide does not change: the arithmetic that a body does with the Int32 numbers of blocks and threads. */
#define WIDE_INDEX " and form own indices from sett_to(sett_block_idx(b, 0), SETT_I64)"
#define MARKED " (of a marked tensor: no use_32bit_stride)"
#define APART __attribute__((noinline)) /* all in one function would leave registers to none of its loops */

/* ---- words ------------------------------------------------------------------------- */
static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* "M, N, K" of the first n symbols. */
static const char *symbol_names(const sett__sig *sig, uint32_t n, char buf[300])
{
    size_t at = 0;
    for (uint32_t s = 0; s < n; s++) {
        const bool room = at < 300 - 70 || s + 1 == n;
        at += (size_t)snprintf(buf + at, 300 - at, "%s%.60s", s ? ", " : "", room ? sig->sym[s].name : "...");
        s = room ? s : n;
    }
    return buf;
}

/* How many symbols a launch must give behind its arguments: up to the last one that no argument can give. */
static uint32_t numbers_of(const sett__plan *p)
{
    uint32_t n = p->n_sym;
    while (n && sett__plan_syms(p)[n - 1].from != SETT__GIVEN)
        n--;
    return n;
}

const char *sett__takes_text(const sett__plan *p, char buf[SETT__TAKES])
{
    const sett__sig *sig = p->sig;
    const int n = (int)sig->n_param;
    char names[300];
    const uint32_t numbers = numbers_of(p);
    size_t at = (size_t)snprintf(buf, SETT__TAKES, n ? "%.100s takes %d argument%s (" : "%.100s takes no arguments", p->name, n,
        plural(n));
    for (int i = 0; i < n; i++) {
        bool room = at < 400 - 70 || i + 1 == n;
        at += (size_t)snprintf(buf + at, SETT__TAKES - at, "%s%.60s", i ? ", " : "", room ? sig->param[i].name : "...");
        i = room ? i : n;
    }
    at += (size_t)snprintf(buf + at, SETT__TAKES - at, "%s", n ? ")" : "");
    if (numbers)
        snprintf(buf + at, SETT__TAKES - at, " and %u number%s behind them (%s)", (unsigned)numbers, plural((int)numbers), symbol_names(sig, numbers, names));
    return buf;
}

static sett_status wrong_count(const sett__binder *bd)
{
    char takes[SETT__TAKES];
    return REFUSE(bd, SETT_E_BIND, "%s, %d %s given", sett__takes_text(bd->plan, takes), bd->n, bd->n == 1 ? "was" : "were");
}

/* ---- kinds, types, ranks ------------------------------------------------------------------ */
static __attribute__((noinline, cold)) const char *given_text(const sett_launch_arg *a)
{
    int kind = a->kind;
    return kind == SETT_LAUNCH_ARG_BUF ? "a buffer" : kind == SETT_LAUNCH_ARG_STRUCT ? "a struct" : kind == SETT_LAUNCH_ARG_NAME ? "a name" : kind ? "a number" : "nothing";
}

static __attribute__((noinline, cold)) sett_status wrong_rank(const sett__binder *bd, const sett__param *p, int rank)
{
    if (rank < 0 || rank > SETT__MAX_RANK)
        return REFUSE(bd, SETT_E_RANK, "%s: %s has %d mode%s, and the buffer given was made with a rank that is none",
            bd->name, p->name, p->rank, plural(p->rank));
    return REFUSE(bd, SETT_E_RANK, "%s: %s has %d mode%s, the buffer given %d", bd->name, p->name, p->rank,
        plural(p->rank), rank);
}

static inline sett_status check_buffer(const sett__binder *bd, uint32_t i, const sett__arg_plan *a, const sett_launch_arg *b)
{
    const sett__param *p = &bd->sig->param[i];
    const sett_buf *t = b->u.t;
    if (b->kind != SETT_LAUNCH_ARG_BUF)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a tensor, and %s was given (argument %u)", bd->name, p->name,
            given_text(b), (unsigned)i);
    if (!t)
        return REFUSE(
            bd, SETT_E_BIND, "%s: %s: the buffer given is NULL (argument %u)", bd->name, p->name, (unsigned)i);
    if ((int)t->dtype != a->dtype)
        return REFUSE(bd, SETT_E_DTYPE, "%s: %s is %s, the buffer given is %s", bd->name, p->name,
            sett_dtype_name((sett_dtype)p->dtype), sett_dtype_name(t->dtype));
    if (t->rank != a->rank)
        return wrong_rank(bd, p, t->rank);
    for (int m = 0, rank = a->rank; m < rank; m++)
        if (t->shape[m] < 0)
            return REFUSE(bd, SETT_E_SHAPE, "%s: %s mode %d is %" PRId64, bd->name, p->name, m, t->shape[m]);
    return SETT_OK;
}

/* U64 takes every 64-bit pattern: a C caller's large number arrives as a negative one. */
bool sett__int_fits(sett_dtype dtype, int64_t v)
{
    const sett__type t = sett__type_of((int)dtype);
    const bool sign = t.kind == 'i';
    if (t.bits >= 64 || !(sign || t.kind == 'u' || t.kind == 'b'))
        return true;
    return v >= (sign ? -(INT64_C(1) << (t.bits - 1)) : 0) && v < INT64_C(1) << (t.bits - sign);
}

static sett_status check_struct(const sett__binder *bd, uint32_t i)
{
    const sett__param *p = &bd->sig->param[i];
    const sett_launch_arg *a = &bd->arg[i];
    if (a->kind != SETT_LAUNCH_ARG_STRUCT)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a struct of %u bytes, and %s was given (argument %u): SETT_STRUCT(x) gives one",
            bd->name, p->name, (unsigned)p->bytes, given_text(a), (unsigned)i);
    if (a->bytes != p->bytes)
        return REFUSE(bd, SETT_E_SHAPE, "%s: %s is a struct of %u bytes, the one given has %u (argument %u)", bd->name,
            p->name, (unsigned)p->bytes, (unsigned)a->bytes, (unsigned)i);
    if (!a->u.p)
        return REFUSE(bd, SETT_E_BIND, "%s: %s: the struct given is NULL (argument %u)", bd->name, p->name, (unsigned)i);
    return SETT_OK;
}

static sett_status take_struct(const sett__binder *bd, uint32_t i, const sett__arg_plan *a)
{
    sett_status s = check_struct(bd, i);
    if (!s)
        memcpy(bd->out->params + a->at, bd->arg[i].u.p, a->bytes);
    return s;
}

static sett_status take_float(const sett__binder *bd, uint32_t i, const sett__arg_plan *a)
{
    const sett_dtype dtype = (sett_dtype)a->dtype;
    const sett_launch_arg *b = &bd->arg[i];
    const double f = b->kind == SETT_LAUNCH_ARG_FLOAT ? b->u.f : (double)b->u.i;
    const uint64_t bits = sett__bits_of_float(dtype, f);
    if (fabs(f) > 65503 && isfinite(f) && !isfinite(sett__float_of_bits(dtype, bits)))
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %g does not fit %s", bd->name, bd->sig->param[i].name, f, sett_dtype_name(dtype));
    memcpy(bd->out->params + a->at, &bits, a->bytes);
    return SETT_OK;
}

static sett_status take_scalar(sett__binder *bd, uint32_t i, const sett__arg_plan *a)
{
    const sett__param *p = &bd->sig->param[i];
    const sett_launch_arg *b = &bd->arg[i];
    const sett_dtype dtype = (sett_dtype)a->dtype;
    bd->scalar[i] = 0;
    if (p->scalar == SETT__BY_STRUCT)
        return take_struct(bd, i, a);
    if (b->kind != SETT_LAUNCH_ARG_INT && b->kind != SETT_LAUNCH_ARG_FLOAT)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a number, and %s was given (argument %u)", bd->name, p->name,
            given_text(b), (unsigned)i);
    if (sett__dtype_is_float(dtype))
        return take_float(bd, i, a);
    if (b->kind == SETT_LAUNCH_ARG_FLOAT)
        return REFUSE(bd, SETT_E_DTYPE, "%s: %s is %s, and the floating number %g was given", bd->name, p->name,
            sett_dtype_name(dtype), b->u.f);
    if (!sett__int_fits(dtype, b->u.i))
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %" PRId64 " does not fit %s", bd->name, p->name, b->u.i, sett_dtype_name(dtype));
    bd->scalar[i] = b->u.i;
    memcpy(bd->out->params + a->at, &b->u.i, a->bytes);
    return SETT_OK;
}
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the packed block is written for little-endian hosts, as CUDA's are"
#endif

/* Numbers go into the block. */
static APART sett_status take_arguments(sett__binder *bd)
{
    const sett__plan *p = bd->plan;
    const sett__arg_plan *a = sett__plan_args(p);
    sett_status s = SETT_OK;
    if (bd->n < p->n_arg || bd->n > p->n_arg + p->n_sym)
        return wrong_count(bd);
    if (bd->n && !bd->arg)
        return REFUSE(bd, SETT_E_BIND, "%s: the array of its %d arguments is NULL", bd->name, bd->n);
    for (int i = p->n_arg; i < bd->n; i++)
        if (bd->arg[i].kind && bd->arg[i].kind != SETT_LAUNCH_ARG_INT)
            return wrong_count(bd);
    const sett_launch_arg *b = bd->arg;
    for (uint32_t i = 0, n = p->n_arg; i < n && !s; i++, a++, b++)
        s = a->bytes ? take_scalar(bd, i, a) : check_buffer(bd, i, a, b);
    return s;
}

/* ---- symbols ------------------------------------------------------------------------------ */
static bool empty_buffer(const sett_buf *t)
{
    for (int m = 0; m < t->rank; m++)
        if (!t->shape[m])
            return true;
    return false;
}

/* Does this stride lead to an element? That of another is anybody's guess. */
static inline bool leads(const sett_launch_arg *arg, uint16_t place)
{
    const sett_buf *t = arg[SETT__PLACE_PARAM(place)].u.t;
    return t->shape[SETT__PLACE_MODE(place)] > 1 && !empty_buffer(t);
}

static inline int64_t number_at(const sett_launch_arg *arg, uint16_t place)
{
    const sett_buf *t = arg[SETT__PLACE_PARAM(place)].u.t;
    return (place & 1 ? t->stride : t->shape)[SETT__PLACE_MODE(place)];
}

/* The first stride that is the symbol alone, among those that lead to an element or those that do not. */
static uint16_t stride_of(const sett__binder *bd, uint32_t s, bool leading)
{
    for (uint32_t i = 0; i < bd->sig->n_param; i++)
        for (int j = 0; j < bd->sig->param[i].rank; j++) {
            const sett__mode_ref m = sett__bound_mode(bd, i, j);
            const uint16_t place = SETT__PLACE(i, j, 1u);
            if (m.end - m.leaf == 1 && sett__is_sym_expr(bd, m.leaf->stride) && bd->sig->code[m.leaf->stride.first].imm == s &&
                leads(bd->arg, place) == leading)
                return place;
        }
    return SETT__UNBOUND;
}

/* One that no extent gives, and not the first of its strides. A stride that leads nowhere is used only where nothing else gives
 * the symbol; one that breaks the symbol's own promise is then replaced by the least value that keeps it. */
static __attribute__((noinline)) int64_t bind_symbol(sett__binder *bd, uint32_t s, const sett_launch_arg *given)
{
    const sett__symbol *y = &bd->sig->sym[s];
    const sett__sym_plan *p = &sett__plan_syms(bd->plan)[s];
    bd->from[s] = p->only ? SETT__UNBOUND : stride_of(bd, s, true); /* the only one leads nowhere, or this was not called */
    if (bd->from[s] != SETT__UNBOUND)
        return number_at(bd->arg, bd->from[s]);
    bd->from[s] = given ? SETT__GIVEN : p->only ? p->from : stride_of(bd, s, false);
    if (given || bd->from[s] == SETT__UNBOUND)
        return given ? given->u.i : 0;
    int64_t v = number_at(bd->arg, bd->from[s]);
    return v < 0 || v % y->div || (!y->wide && v > INT32_MAX) ? y->div : v;
}

/* Values follow the arguments in the order of the symbols, so that those before the last one that is needed are given too. */
static sett_status no_symbol(const sett__binder *bd, uint32_t i)
{
    char names[300];
    const uint32_t last = numbers_of(bd->plan), n = last > i ? last : i + 1;
    int came = 0;
    char count[40] = "";
    for (int k = bd->plan->n_arg; k < bd->n; k++)
        came += bd->arg[k].kind != 0;
    if (came)
        snprintf(count, sizeof count, ", and %d came", came);
    return REFUSE(bd, SETT_E_BIND, "%s: no argument gives %s a value: append %s to the launch as %s%s", bd->name,
        bd->sig->sym[i].name, n > 1 ? symbol_names(bd->sig, n, names) : "it", n > 1 ? "integers" : "an integer", count);
}

/* By what leads to an element? */
static bool bound(const sett__binder *bd, uint32_t s)
{
    const uint16_t from = bd->from[s];
    return from < SETT__GIVEN && (!(from & 1) || leads(bd->arg, from));
}

/* A value for a symbol that a buffer gives: where all that follow the arguments are such, one was given too many. */
static __attribute__((noinline, cold)) sett_status given_twice(const sett__binder *bd)
{
    char place[160], takes[SETT__TAKES];
    const sett_launch_arg *value = bd->arg + bd->plan->n_arg;
    uint32_t s = 0;
    int given = bd->plan->n_arg;
    bool too_many = true;
    while (!value[s].kind || !bound(bd, s) || bd->sym[s] == value[s].u.i)
        s++;
    for (uint32_t i = 0; i < (uint32_t)(bd->n - bd->plan->n_arg); i++)
        if (value[i].kind) {
            given++;
            too_many &= bound(bd, i);
        }
    for (uint32_t i = 0; i < bd->plan->n_sym && too_many; i++)
        if (!bound(bd, i))
            return no_symbol(bd, i);
    sett__place_text(bd, bd->from[s], place);
    if (!too_many)
        return REFUSE(bd, SETT_E_BIND, "%s: %s = %" PRId64 " was given, %s gives %" PRId64, bd->name,
            bd->sig->sym[s].name, value[s].u.i, place, bd->sym[s]);
    return REFUSE(bd, SETT_E_BIND, "%s, %d were given; a number behind them is a symbol: %s = %" PRId64 ", and %s gives %" PRId64,
        sett__takes_text(bd->plan, takes), given, bd->sig->sym[s].name, value[s].u.i, place, bd->sym[s]);
}

static inline sett_status check_symbol(const sett__binder *bd, uint32_t i, const sett__sym_plan *y)
{
    const sett__symbol *s = &bd->sig->sym[i];
    int64_t v = bd->sym[i];
    char place[160];
    if (bd->from[i] == SETT__UNBOUND)
        return no_symbol(bd, i);
    if (v < 0)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %" PRId64 " (%s) is negative", bd->name, s->name, v,
            sett__place_text(bd, bd->from[i], place));
    if (v >> y->bits)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %" PRId64 " (%s) is past 2^31 - 1: declare it .wide%s" WIDE_INDEX, bd->name,
            s->name, v, sett__place_text(bd, bd->from[i], place), bd->from[i] < SETT__GIVEN && bd->from[i] & 1 ? MARKED : "");
    /* A power of two by a mask: a division would be the dearest step of a launch. */
    if (y->odd ? v % s->div : v & y->mask)
        return sett__bind_divides(bd, i);
    return SETT_OK;
}

static inline void put_symbol(unsigned char *params, const sett__sym_plan *y, int64_t v)
{
    const int32_t low = (int32_t)v;
    if (y->bits == 63)
        memcpy(params + y->at, &v, sizeof v);
    else
        memcpy(params + y->at, &low, sizeof low);
}

/* The plan's source, a launch's own value, or what is left. */
static inline int64_t take_symbol(sett__binder *bd, const sett_launch_arg *arg, uint32_t s, uint16_t from, const sett_launch_arg *given)
{
    bd->from[s] = from;
    if (from == SETT__GIVEN ? !given : from & 1 && !leads(arg, from))
        return bind_symbol(bd, s, given);
    return from == SETT__GIVEN ? given->u.i : number_at(arg, from);
}

static APART sett_status take_symbols(sett__binder *bd)
{
    const sett__plan *p = bd->plan;
    const sett__sym_plan *y = sett__plan_syms(p);
    const sett_launch_arg *arg = bd->arg, *value = arg + p->n_arg, *end = arg + bd->n;
    const uint32_t n = p->n_sym;
    unsigned char *params = bd->out->params;
    bool twice = false;
    for (uint32_t s = 0; s < n; s++, value++) {
        const sett_launch_arg *given = value < end && value->kind ? value : NULL;
        bd->sym[s] = take_symbol(bd, arg, s, y[s].from, given);
        twice |= given && given->u.i != bd->sym[s];
    }
    if (twice)
        return given_twice(bd);
    for (uint32_t s = 0; s < n; s++, y++) {
        sett_status st = check_symbol(bd, s, y);
        if (st)
            return st;
        put_symbol(params, y, bd->sym[s]);
    }
    return SETT_OK;
}

/* ---- layouts ------------------------------------------------------------------------------------ */
/* A mode of several leaves against one extent and stride: the leaves must fold to them. */
static sett_status check_nested(const sett__binder *bd, const sett__mode_ref *m, bool strides)
{
    int64_t size = 1, next = m->stride, extent, stride;
    for (const sett__leaf *l = m->leaf; l < m->end; l++) {
        if (!sett__bind_eval(bd, l->extent, &extent) || extent < 0)
            return sett__bind_no_value(bd, m, l->extent, false);
        if (!sett__bind_eval(bd, l->stride, &stride))
            return sett__bind_no_value(bd, m, l->stride, true);
        if (strides && extent != 1 && stride != next)
            return REFUSE(bd, SETT_E_SHAPE,
                "%s: %s stride %d is %" PRId64 ", its nested mode needs %" PRId64 " where that gives %" PRId64,
                bd->name, bd->sig->param[m->param].name, m->mode, m->stride, stride, next);
        if (__builtin_mul_overflow(size, extent, &size) ||
            (extent != 1 && __builtin_mul_overflow(stride, extent, &next)))
            return sett__bind_no_value(bd, m, l->extent, false);
    }
    if (size != m->extent)
        return REFUSE(bd, SETT_E_SHAPE, "%s: %s mode %d is %" PRId64 ", its nested extents make %" PRId64, bd->name,
            bd->sig->param[m->param].name, m->mode, m->extent, size);
    return SETT_OK;
}

/* Strides of modes with at most one element are anybody's. */
static __attribute__((noinline)) sett_status check_mode(const sett__binder *bd, const sett__mode_ref *m, bool strides)
{
    int64_t want;
    strides = strides && m->extent > 1;
    if (m->end - m->leaf != 1)
        return check_nested(bd, m, strides);
    if (!sett__bind_eval(bd, m->leaf->extent, &want))
        return sett__bind_no_value(bd, m, m->leaf->extent, false);
    if (want != m->extent)
        return sett__bind_differs(bd, m, m->leaf->extent, false, m->extent, want);
    if (!strides)
        return SETT_OK;
    if (!sett__bind_eval(bd, m->leaf->stride, &want))
        return sett__bind_no_value(bd, m, m->leaf->stride, true);
    return want == m->stride ? SETT_OK : sett__bind_differs(bd, m, m->leaf->stride, true, m->stride, want);
}

bool sett__buf_span(const sett_buf *t, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int m = 0; m < t->rank; m++) {
        int64_t far;
        if (t->shape[m] <= 1)
            continue;
        if (__builtin_mul_overflow(t->shape[m] - 1, t->stride[m], &far) ||
            __builtin_add_overflow(*(far < 0 ? lo : hi), far, far < 0 ? lo : hi))
            return false;
    }
    return true;
}

static int64_t storage_bits(sett_dtype dtype)
{
    return dtype == SETT_BOOL ? 8 : sett_dtype_bits(dtype);
}

static sett_status check_memory(const sett__binder *bd, uint32_t i, const sett_buf *t, sett__extent *x)
{
    const sett__param *p = &bd->sig->param[i];
    int64_t lo, hi, cosize, bits, low_bits;
    if (!t->data)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a null pointer", bd->name, p->name);
    if (p->align > 1 && (uintptr_t)t->data & (p->align - 1))
        return REFUSE(bd, SETT_E_ALIGN, "%s: %s is at %p, which is not a multiple of %u bytes", bd->name, p->name,
            t->data, (unsigned)p->align);
    if (!sett__buf_span(t, &lo, &hi) || __builtin_sub_overflow(hi, lo, &cosize) || __builtin_add_overflow(cosize, 1, &cosize) ||
        __builtin_mul_overflow(cosize, storage_bits(t->dtype), &bits) ||
        __builtin_mul_overflow(lo, storage_bits(t->dtype), &low_bits))
        return REFUSE(bd, SETT_E_RANGE, "%s: the extents and strides of %s overflow 64 bits", bd->name, p->name);
    if (!p->wide && (hi >= INT64_C(1) << 31 || lo < -(INT64_C(1) << 31)))
        return REFUSE(bd, SETT_E_RANGE,
            "%s: %s spans %" PRId64 " elements, past the 2^31 of 32-bit offsets: declare its symbols .wide" MARKED WIDE_INDEX,
            bd->name,
            p->name, cosize);
    if (x)
        *x = (sett__extent){(const void *)((uintptr_t)t->data + (uintptr_t)(low_bits / 8)), ((size_t)bits + 7) / 8};
    return SETT_OK;
}

static sett_status check_modes(const sett__binder *bd, uint32_t i, bool strides)
{
    sett_status s = SETT_OK;
    for (int j = 0; j < bd->sig->param[i].rank && !s; j++) {
        const sett__mode_ref m = sett__bound_mode(bd, i, j);
        s = check_mode(bd, &m, strides);
    }
    return s;
}

/* The whole rule. A wrong extent makes wrong strides: it is the one to name. */
static __attribute__((noinline)) sett_status check_tensor(const sett__binder *bd, uint32_t i, sett__extent *x)
{
    const sett_buf *t = bd->arg[i].u.t;
    const bool empty = empty_buffer(t);
    sett_status s = check_modes(bd, i, false);
    if (!s && !empty)
        s = check_modes(bd, i, true);
    if (!s && empty && x)
        *x = (sett__extent){t->data, 0};
    return s || empty ? s : check_memory(bd, i, t, x);
}

static inline bool is(const int64_t *sym, uint32_t want, int64_t v)
{
    return want < SETT__WANT_SYM ? v == want : want < SETT__WANT_MORE && v == sym[want - SETT__WANT_SYM];
}

/* Is it surely right? So are most, by the plan alone: numbers and symbols, elements that are few and lie where they must. */
static inline bool plain_tensor(const int64_t *sym, const sett__arg_plan *a, const sett__mode_plan *want, const sett_buf *t)
{
    enum { FAR = 54 }; /* bits: no sum of modes overflows */
    int64_t lo = 0, hi = 0, far;
    for (size_t j = 0, rank = a->rank; j < rank; j++) {
        const int64_t extent = t->shape[j], stride = t->stride[j];
        if (extent < 1 || !is(sym, want[j].extent, extent))
            return false;
        if (extent == 1)
            continue;
        if (!is(sym, want[j].stride, stride) || __builtin_mul_overflow(extent - 1, stride, &far) ||
            ((uint64_t)far + (UINT64_C(1) << FAR)) >> (FAR + 1))
            return false;
        if (far < 0)
            lo += far;
        else
            hi += far;
    }
    return t->data && !((uintptr_t)t->data & ((UINT64_C(1) << a->align) - 1)) && !(hi >> a->reach) && lo >> a->reach >= -1;
}

static APART sett_status check_tensors(const sett__binder *bd, sett__extent *extents)
{
    const sett__arg_plan *a = sett__plan_args(bd->plan);
    const sett__mode_plan *want = sett__plan_modes(bd->plan);
    const sett_launch_arg *arg = bd->arg;
    unsigned char *params = bd->out->params;
    for (uint32_t i = 0, n = bd->plan->n_arg; i < n; want += a->rank, i++, a++) {
        const sett_buf *t = arg[i].u.t;
        if (extents)
            extents[i] = (sett__extent){NULL, 0};
        if (a->bytes)
            continue;
        sett_status s = !extents && plain_tensor(bd->sym, a, want, t) ? SETT_OK : check_tensor(bd, i, extents ? &extents[i] : NULL);
        if (s)
            return s;
        memcpy(params + a->at, &t->data, sizeof t->data);
    }
    return SETT_OK;
}

/* ---- dimensions --------------------------------------------------------------------------------------- */
static inline sett_status eval_dim(const sett__binder *bd, const sett__dim_plan *d, uint32_t *to)
{
    int64_t v = 0;
    if (d->form != SETT__DIM_EXPR)
        v = bd->sym[d->sym];
    else if (!sett__bind_eval(bd, sett__dim_of(bd->sig, d->slot), &v))
        return sett__bind_no_dim(bd, d->slot, v, false);
    if (d->form == SETT__DIM_CEIL)
        v = (uint64_t)v >> 32 ? v / d->by + (v % d->by != 0) : (uint32_t)v / d->by + ((uint32_t)v % d->by != 0);
    *to = (uint32_t)v;
    return v < d->least || v > d->most ? sett__bind_no_dim(bd, d->slot, v, true) : SETT_OK;
}

/* The bytes of dynamic shared memory to pass to the driver. A kernel's window of shared memory is either static in its code, and the
 * launch passes 0, or dynamic as a whole, and the launch passes the size of all of it (sett__smem_static). */
static sett_status bind_smem(const sett__binder *bd, sett__launch_dims *d)
{
    const sett__sig *sig = bd->sig;
    int64_t more = 0;
    bool known = !sig->smem_more.count || sett__bind_eval(bd, sig->smem_more, &more);
    if (known && more >= 0 && more <= SETT__SMEM_MAX - (int64_t)sig->smem) {
        d->smem = sett__smem_static(sig) ? 0 : sig->smem + (uint32_t)more;
        return SETT_OK;
    }
    return sett__bind_no_smem(bd, known, more);
}

static __attribute__((noinline, cold)) sett_status check_clusters(const sett__binder *bd, const sett__launch_dims *d)
{
    const uint32_t *c = d->cluster;
    for (int i = 0; i < 3; i++)
        if (d->grid[i] % c[i])
            return REFUSE(bd, SETT_E_DIVIDE, "%s: the grid's %c is %u, which is not a multiple of the cluster's, %u", bd->name, "xyz"[i],
                (unsigned)d->grid[i], (unsigned)c[i]);
    if (c[0] * c[1] * c[2] > sett__cluster_most(bd->sig))
        return REFUSE(bd, SETT_E_LIMIT, "%s: a cluster of %u blocks; %d is the limit", bd->name, (unsigned)(c[0] * c[1] * c[2]),
            (int)sett__cluster_most(bd->sig));
    return SETT_OK;
}

static inline sett_status bind_dims(const sett__binder *bd)
{
    sett__launch_dims *d = &bd->out->dims;
    const sett__dim_plan *at = sett__plan_dims(bd->plan);
    *d = bd->plan->dims;
    for (uint32_t i = bd->plan->n_dim; i; i--, at++) {
        sett_status s = eval_dim(bd, at, (uint32_t *)(void *)d + at->slot);
        if (s)
            return s;
    }
    const uint32_t threads = d->block[0] * d->block[1] * d->block[2];
    if (threads > SETT__BLOCK_THREADS)
        return REFUSE(
            bd, SETT_E_LIMIT, "%s: a block of %u threads; %d is the limit", bd->name, (unsigned)threads, SETT__BLOCK_THREADS);
    bd->out->empty = !d->grid[0] || !d->grid[1] || !d->grid[2];
    sett_status s = bd->plan->more ? check_clusters(bd, d) : SETT_OK;
    return !s && bd->plan->more ? bind_smem(bd, d) : s;
}

/* ---- what the body relies on --------------------------------------------------------------------------- */
static sett_status check_promises(const sett__binder *bd)
{
    for (uint32_t i = 0; i < bd->sig->n_check; i++) {
        const sett__check *k = &bd->sig->check[i];
        int64_t v;
        if (!sett__bind_eval(bd, k->expr, &v) || v)
            return sett__bind_broken(bd, k);
    }
    return SETT_OK;
}

/* What the launch computes for the kernel: divisors, and what they are multiplied by instead. Where nothing runs they are 0:
 * extents of 0 divide nothing. */
static sett_status derive(sett__binder *bd)
{
    for (uint32_t i = bd->plan->n_sym; i < bd->sig->n_sym; i++) {
        const sett__symbol *s = &bd->sig->sym[i];
        bd->sym[i] = 0;
        bool known = bd->out->empty || sett__bind_eval(bd, s->value, &bd->sym[i]);
        if (!known || bd->sym[i] < 0 || bd->sym[i] > INT32_MAX)
            return sett__bind_no_derived(bd, s, bd->sym[i], known);
        put_symbol(bd->out->params, &sett__plan_syms(bd->plan)[i], bd->sym[i]);
    }
    return SETT_OK;
}

/* Gaps of the packed block are zero, so that equal arguments make equal blocks. The address at the end of one with assertions is
 * sett__gpu_address's. */
sett_status sett__bind(const sett__plan *p, int n, const sett_launch_arg *arg, sett__bound *out, sett__extent *extents, sett_error *err)
{
    sett__binder bd;
    bd.plan = p, bd.sig = p->sig, bd.name = p->name, bd.arg = arg, bd.n = n, bd.err = err, bd.out = out;
    if (p->gaps)
        memset(out->params, 0, p->params_len);
    out->params_len = p->params_len;
    sett_status s = take_arguments(&bd);
    if (!s)
        s = take_symbols(&bd);
    if (!s)
        s = check_tensors(&bd, extents);
    if (!s && p->more)
        s = check_promises(&bd);
    if (!s)
        s = bind_dims(&bd);
    if (s || !p->more)
        return s;
    s = derive(&bd);
    return s || out->empty ? s : sett__maps_bind(p->sig, p->name, arg, bd.sym, bd.scalar, out->map, err);
}

/* ---- the constants of a plan's call --------------------------------------------------------------------- */
/* Modes that are numbers, and the memory: what no other argument makes right. */
static sett_status check_alone(const sett__binder *bd, uint32_t i)
{
    const sett_buf *t = bd->arg[i].u.t;
    const bool empty = empty_buffer(t);
    sett_status s = SETT_OK;
    for (int j = 0; j < t->rank && !s; j++) {
        const sett__mode_ref m = sett__bound_mode(bd, i, j);
        if (m.end - m.leaf == 1 && sett__is_const_expr(bd, m.leaf->extent))
            s = check_mode(bd, &m, !empty && sett__is_const_expr(bd, m.leaf->stride));
    }
    return s || empty ? s : check_memory(bd, i, t, NULL);
}

sett_status sett__bind_constants(const sett__plan *p, int n, const sett_launch_arg *arg, sett_error *err)
{
    sett__bound out;
    sett__binder bd;
    bool names = false;
    sett_status s = SETT_OK;
    bd.plan = p, bd.sig = p->sig, bd.name = p->name, bd.arg = arg, bd.n = n, bd.err = err, bd.out = &out;
    for (int i = 0; i < n && !s; i++) {
        const sett__arg_plan *a = sett__plan_args(p) + i;
        const bool name = arg[i].kind == SETT_LAUNCH_ARG_NAME;
        names |= name;
        if (i >= p->n_arg)
            s = name || !arg[i].kind || arg[i].kind == SETT_LAUNCH_ARG_INT ? SETT_OK : wrong_count(&bd);
        else if (!name && !(s = a->bytes ? take_scalar(&bd, (uint32_t)i, a) : check_buffer(&bd, (uint32_t)i, a, &arg[i])) && !a->bytes)
            s = check_alone(&bd, (uint32_t)i);
    }
    return s || names ? s : sett__bind(p, n, arg, &out, NULL, err);
}
