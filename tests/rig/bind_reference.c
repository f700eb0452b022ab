/* SPDX-License-Identifier: Apache-2.0 */
/* Binding by the signature alone, job after job over all of it: what sett__bind, which has a plan, is compared with. */
#include "tests/rig/planned.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    UNBOUND = 0xFFFF, /* of binder.from */
    GIVEN = 0xFFFE,   /* by an entry behind the parameters */
};
typedef struct dim_rule {
    const char *what;
    int64_t least, most[3];
} dim_rule;
static const dim_rule dim_rules[3] = {{"grid", 0, {INT32_MAX, 65535, 65535}}, {"block", 1, {1024, 1024, 64}},
    {"cluster", 1, {16, 16, 16}}};

typedef struct binder {
    const sett__sig *sig;
    const char *name; /* the kernel's */
    const sett_launch_arg *arg;
    int n;
    sett_error *err;
    int64_t sym[SETT__MAX_ARGS], scalar[SETT__MAX_ARGS];
    uint16_t from[SETT__MAX_ARGS]; /* the place that gave a symbol: param, mode, stride */
} binder;

/* One top-level mode of a parameter, and its leaves. */
typedef struct mode_ref {
    uint32_t param;
    int mode;
    const sett__leaf *leaf, *end;
    int64_t extent, stride; /* the buffer's */
} mode_ref;

/* What .wide does not change: the arithmetic that a body does with the Int32 numbers of blocks and threads. */
#define WIDE_INDEX " and form own indices from sett_to(sett_block_idx(b, 0), SETT_I64)"
#define MARKED " (of a marked tensor: no use_32bit_stride)"
#define REFUSE(bd, status, ...) sett__error((bd)->err, status, __VA_ARGS__)

/* ---- words ------------------------------------------------------------------------- */
static const char *place_text(const binder *bd, uint16_t from, char buf[160])
{
    if (from == GIVEN)
        snprintf(buf, 160, "the caller");
    else
        snprintf(buf, 160, "%.100s %s %d", bd->sig->param[from >> 5].name, from & 1 ? "stride" : "mode", from >> 1 & 15);
    return buf;
}

static const char *leaf_text(const mode_ref *m, const binder *bd, bool stride, char buf[160])
{
    snprintf(buf, 160, "%.100s %s %d", bd->sig->param[m->param].name, stride ? "stride" : "mode", m->mode);
    return buf;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* Those before the symbols that the launch computes. */
static uint32_t given_symbols(const sett__sig *sig)
{
    return sig->n_sym - sig->n_derived;
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

/* Is a mode of a buffer that symbol, in its extent or stride? */
static bool a_mode_is(const sett__sig *sig, uint32_t s)
{
    for (uint32_t i = 0; i < sig->n_param; i++)
        for (uint32_t j = 0; j < sig->param[i].n_leaf && !sig->param[i].scalar; j++) {
            const sett__leaf *all = &sig->leaf[sig->param[i].leaf], *l = &all[j];
            const bool alone = (!j || l[-1].mode != l->mode) && (j + 1 == sig->param[i].n_leaf || l[1].mode != l->mode);
            const sett__expr of[] = {l->extent, l->stride};
            for (int k = 0; k < 2 && alone; k++)
                if (of[k].count == 1 && sig->code[of[k].first].code == SETT__X_SYM && sig->code[of[k].first].imm == s)
                    return true;
        }
    return false;
}

/* "k takes 2 arguments (X, a) and 1 number behind them (N)" */
enum { TAKES = 800 };
static const char *takes_text(const binder *bd, char buf[TAKES])
{
    int n = (int)bd->sig->n_param;
    char names[300];
    uint32_t numbers = 0;
    size_t at = (size_t)snprintf(buf, TAKES, n ? "%.100s takes %d argument%s (" : "%.100s takes no arguments", bd->name, n, plural(n));
    for (int i = 0; i < n; i++) {
        bool room = at < 400 - 70 || i + 1 == n;
        at += (size_t)snprintf(buf + at, TAKES - at, "%s%.60s", i ? ", " : "", room ? bd->sig->param[i].name : "...");
        i = room ? i : n;
    }
    at += (size_t)snprintf(buf + at, TAKES - at, "%s", n ? ")" : "");
    for (uint32_t s = 0; s < given_symbols(bd->sig); s++)
        numbers = a_mode_is(bd->sig, s) ? numbers : s + 1;
    if (numbers)
        snprintf(buf + at, TAKES - at, " and %u number%s behind them (%s)", (unsigned)numbers, plural((int)numbers), symbol_names(bd->sig, numbers, names));
    return buf;
}

static sett_status wrong_count(const binder *bd)
{
    char takes[TAKES];
    return REFUSE(bd, SETT_E_BIND, "%s, %d %s given", takes_text(bd, takes), bd->n, bd->n == 1 ? "was" : "were");
}

/* ---- expressions ---------------------------------------------------------------------- */
static bool is_symbol(const binder *bd, sett__expr e)
{
    return e.count == 1 && bd->sig->code[e.first].code == SETT__X_SYM;
}

static bool eval(const binder *bd, sett__expr e, int64_t *out)
{
    return sett__expr_eval(bd->sig, e, bd->sym, bd->scalar, out);
}

static bool next_mode(const binder *bd, const sett__param *p, const sett_buf *t, mode_ref *m)
{
    const sett__leaf *end = bd->sig->leaf + p->leaf + p->n_leaf;
    m->leaf = m->end;
    if (m->leaf >= end)
        return false;
    m->mode = m->leaf->mode;
    while (m->end < end && m->end->mode == m->mode)
        m->end++;
    m->extent = t->shape[m->mode];
    m->stride = t->stride[m->mode];
    return true;
}

static mode_ref modes_of(const binder *bd, uint32_t param)
{
    const sett__leaf *first = bd->sig->leaf + bd->sig->param[param].leaf;
    return (mode_ref){.param = param, .leaf = first, .end = first};
}

/* ---- kinds, types, ranks ------------------------------------------------------------------ */
static const char *given_text(const sett_launch_arg *a)
{
    int kind = a->kind;
    return kind == SETT_LAUNCH_ARG_BUF ? "a buffer" : kind == SETT_LAUNCH_ARG_STRUCT ? "a struct" : kind ? "a number" : "nothing";
}

static sett_status check_buffer(const binder *bd, uint32_t i)
{
    const sett__param *p = &bd->sig->param[i];
    const sett_buf *t = bd->arg[i].u.t;
    if (bd->arg[i].kind != SETT_LAUNCH_ARG_BUF)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a tensor, and %s was given (argument %u)", bd->name, p->name, given_text(&bd->arg[i]), (unsigned)i);
    if (!t)
        return REFUSE(bd, SETT_E_BIND, "%s: %s: the buffer given is NULL (argument %u)", bd->name, p->name, (unsigned)i);
    if ((int)t->dtype != p->dtype)
        return REFUSE(bd, SETT_E_DTYPE, "%s: %s is %s, the buffer given is %s", bd->name, p->name,
            sett_dtype_name((sett_dtype)p->dtype), sett_dtype_name(t->dtype));
    if (t->rank < 0 || t->rank > SETT__MAX_RANK)
        return REFUSE(bd, SETT_E_RANK, "%s: %s has %d mode%s, and the buffer given was made with a rank that is none",
            bd->name, p->name, p->rank, plural(p->rank));
    if (t->rank != p->rank)
        return REFUSE(bd, SETT_E_RANK, "%s: %s has %d mode%s, the buffer given %d", bd->name, p->name, p->rank, plural(p->rank), t->rank);
    for (int m = 0; m < t->rank; m++)
        if (t->shape[m] < 0)
            return REFUSE(bd, SETT_E_SHAPE, "%s: %s mode %d is %" PRId64, bd->name, p->name, m, t->shape[m]);
    return SETT_OK;
}

static sett_status check_struct(const binder *bd, uint32_t i)
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

static sett_status check_scalar(binder *bd, uint32_t i)
{
    const sett__param *p = &bd->sig->param[i];
    const sett_launch_arg *a = &bd->arg[i];
    sett_dtype dtype = (sett_dtype)p->dtype;
    bool is_float = sett__dtype_is_float(dtype);
    bd->scalar[i] = 0;
    if (p->scalar == SETT__BY_STRUCT)
        return check_struct(bd, i);
    const double number = a->kind == SETT_LAUNCH_ARG_INT ? (double)a->u.i : a->u.f;
    const bool overflows = is_float && (a->kind == SETT_LAUNCH_ARG_INT || a->kind == SETT_LAUNCH_ARG_FLOAT) && isfinite(number) &&
                           !isfinite(sett__float_of_bits(dtype, sett__bits_of_float(dtype, number)));
    if (overflows)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %g does not fit %s", bd->name, p->name, number, sett_dtype_name(dtype));
    if (a->kind == SETT_LAUNCH_ARG_INT && sett__int_fits(dtype, a->u.i)) {
        bd->scalar[i] = a->u.i;
        return SETT_OK;
    }
    if (a->kind == SETT_LAUNCH_ARG_INT)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %" PRId64 " does not fit %s", bd->name, p->name, a->u.i, sett_dtype_name(dtype));
    if (a->kind != SETT_LAUNCH_ARG_FLOAT)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a number, and %s was given (argument %u)", bd->name, p->name, given_text(a), (unsigned)i);
    if (!is_float)
        return REFUSE(bd, SETT_E_DTYPE, "%s: %s is %s, and the floating number %g was given", bd->name, p->name, sett_dtype_name(dtype), a->u.f);
    return SETT_OK;
}

static sett_status check_arguments(binder *bd)
{
    const sett__sig *sig = bd->sig;
    if (bd->n < (int)sig->n_param || bd->n > (int)(sig->n_param + given_symbols(sig)))
        return wrong_count(bd);
    if (bd->n && !bd->arg)
        return REFUSE(bd, SETT_E_BIND, "%s: the array of its %d arguments is NULL", bd->name, bd->n);
    for (uint32_t i = sig->n_param; i < (uint32_t)bd->n; i++)
        if (bd->arg[i].kind && bd->arg[i].kind != SETT_LAUNCH_ARG_INT)
            return wrong_count(bd);
    for (uint32_t i = 0; i < sig->n_param; i++) {
        sett_status s = sig->param[i].scalar ? check_scalar(bd, i) : check_buffer(bd, i);
        if (s)
            return s;
    }
    return SETT_OK;
}

/* ---- symbols ------------------------------------------------------------------------------ */
static void bind_symbol(binder *bd, const mode_ref *m, bool stride)
{
    sett__expr e = stride ? m->leaf->stride : m->leaf->extent;
    if (m->end - m->leaf != 1 || !is_symbol(bd, e))
        return;
    int64_t s = bd->sig->code[e.first].imm;
    if (bd->from[s] != UNBOUND)
        return;
    bd->sym[s] = stride ? m->stride : m->extent;
    bd->from[s] = (uint16_t)(m->param << 5 | (uint32_t)m->mode << 1 | stride);
}

static bool empty_buffer(const sett_buf *t)
{
    for (int m = 0; m < t->rank; m++)
        if (!t->shape[m])
            return true;
    return false;
}

static void bind_extents(binder *bd)
{
    for (uint32_t i = 0; i < bd->sig->n_param; i++) {
        mode_ref m = modes_of(bd, i);
        while (!bd->sig->param[i].scalar && next_mode(bd, &bd->sig->param[i], bd->arg[i].u.t, &m))
            bind_symbol(bd, &m, false);
    }
}

/* Strides of extent-1 modes are anybody's guess, and are used (ignored = true) only where nothing else gives the
 * symbol; one that breaks the symbol's own promise is then replaced by the least value that keeps it. */
static void bind_strides(binder *bd, bool ignored)
{
    for (uint32_t i = 0; i < bd->sig->n_param; i++) {
        const sett__param *p = &bd->sig->param[i];
        mode_ref m = modes_of(bd, i);
        bool empty = !p->scalar && empty_buffer(bd->arg[i].u.t);
        while (!p->scalar && next_mode(bd, p, bd->arg[i].u.t, &m)) {
            if ((m.extent > 1 && !empty) == ignored)
                continue;
            if (ignored && is_symbol(bd, m.leaf->stride)) {
                const sett__symbol *s = &bd->sig->sym[bd->sig->code[m.leaf->stride.first].imm];
                if (m.stride < 0 || m.stride % s->div || (!s->wide && m.stride > INT32_MAX))
                    m.stride = s->div;
            }
            bind_symbol(bd, &m, true);
        }
    }
}

/* Values follow the arguments in the order of the symbols, so that those before it are given too. */
static sett_status no_symbol(const binder *bd, uint32_t i)
{
    char names[300];
    uint32_t n = i + 1;
    for (uint32_t s = n; s < given_symbols(bd->sig); s++)
        n = a_mode_is(bd->sig, s) ? n : s + 1;
    int came = 0;
    char count[40] = "";
    for (int k = (int)bd->sig->n_param; k < bd->n; k++)
        came += bd->arg[k].kind != 0;
    if (came)
        snprintf(count, sizeof count, ", and %d came", came);
    return REFUSE(bd, SETT_E_BIND, "%s: no argument gives %s a value: append %s to the launch as %s%s", bd->name,
        bd->sig->sym[i].name, n > 1 ? symbol_names(bd->sig, n, names) : "it", n > 1 ? "integers" : "an integer", count);
}

/* A value for a symbol that a buffer gives: where all that follow the arguments are such, one was given too many. */
static sett_status given_twice(const binder *bd, uint32_t s)
{
    char place[160], takes[TAKES];
    int given = (int)bd->sig->n_param;
    int64_t value = bd->arg[given + s].u.i;
    bool too_many = true;
    for (int i = given; i < bd->n; i++)
        if (bd->arg[i].kind) {
            given++;
            too_many &= bd->from[i - (int)bd->sig->n_param] < GIVEN;
        }
    for (uint32_t i = 0; i < given_symbols(bd->sig) && too_many; i++)
        if (bd->from[i] == UNBOUND)
            return no_symbol(bd, i);
    place_text(bd, bd->from[s], place);
    if (!too_many)
        return REFUSE(bd, SETT_E_BIND, "%s: %s = %" PRId64 " was given, %s gives %" PRId64, bd->name, bd->sig->sym[s].name, value, place, bd->sym[s]);
    return REFUSE(bd, SETT_E_BIND, "%s, %d were given; a number behind them is a symbol: %s = %" PRId64 ", and %s gives %" PRId64,
        takes_text(bd, takes), given, bd->sig->sym[s].name, value, place, bd->sym[s]);
}

static sett_status bind_given(binder *bd)
{
    for (uint32_t i = bd->sig->n_param; i < (uint32_t)bd->n; i++) {
        uint32_t s = i - bd->sig->n_param;
        if (!bd->arg[i].kind)
            continue;
        if (bd->from[s] != UNBOUND && bd->sym[s] != bd->arg[i].u.i)
            return given_twice(bd, s);
        if (bd->from[s] == UNBOUND)
            bd->sym[s] = bd->arg[i].u.i, bd->from[s] = GIVEN;
    }
    return SETT_OK;
}

/* "; B is (N,K)" */
static const char *shape_text(const binder *bd, uint32_t param, char out[300])
{
    const sett__param *p = &bd->sig->param[param];
    char shape[200], expr[200];
    size_t n = 0;
    for (uint32_t i = p->leaf, end = p->leaf + p->n_leaf; i < end; i++) {
        const sett__leaf *l = &bd->sig->leaf[i];
        const bool opens = i + 1 < end && l[1].mode == l->mode && (i == p->leaf || l[-1].mode != l->mode);
        const bool closes = i > p->leaf && l[-1].mode == l->mode && (i + 1 == end || l[1].mode != l->mode);
        sett__expr_words(bd->sig, l->extent, expr, sizeof expr);
        n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%s%s%s", i > p->leaf ? "," : "", opens ? "(" : "", expr, closes ? ")" : "");
        n = n < sizeof shape ? n : sizeof shape - 1;
    }
    snprintf(out, 300, "; %.60s is (%s)", p->name, shape);
    return out;
}

/* Of the parameter that gave a symbol, a mode that the kernel has with a stride of 1 and the buffer with another. */
static sett_status not_contiguous(const binder *bd, uint32_t param, int mode, int64_t stride)
{
    char shape[300];
    return REFUSE(bd, SETT_E_SHAPE, "%s: %.100s's mode %d must be contiguous: its stride is %" PRId64 "%s", bd->name, bd->sig->param[param].name, mode, stride,
        shape_text(bd, param, shape));
}

static sett_status no_multiple(const binder *bd, uint32_t i)
{
    const sett__symbol *s = &bd->sig->sym[i];
    char place[160];
    if (bd->from[i] < GIVEN && bd->from[i] & 1) {
        mode_ref m = modes_of(bd, bd->from[i] >> 5);
        while (next_mode(bd, &bd->sig->param[m.param], bd->arg[m.param].u.t, &m)) {
            const sett__xop *x = &bd->sig->code[m.leaf->stride.first];
            if (m.end - m.leaf == 1 && m.leaf->stride.count == 1 && x->code == SETT__X_CONST && x->imm == 1 && m.extent > 1 && m.stride != 1)
                return not_contiguous(bd, m.param, m.mode, m.stride);
        }
    }
    return REFUSE(bd, SETT_E_DIVIDE, "%s: %s = %" PRId64 " (%s) is not a multiple of %" PRId64, bd->name, s->name, bd->sym[i], place_text(bd, bd->from[i], place), s->div);
}

static sett_status check_symbol(const binder *bd, uint32_t i)
{
    const sett__symbol *s = &bd->sig->sym[i];
    int64_t v = bd->sym[i];
    char place[160];
    if (bd->from[i] == UNBOUND)
        return no_symbol(bd, i);
    if (v < 0)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %" PRId64 " (%s) is negative", bd->name, s->name, v, place_text(bd, bd->from[i], place));
    if (!s->wide && v > INT32_MAX)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s = %" PRId64 " (%s) is past 2^31 - 1: declare it .wide%s" WIDE_INDEX, bd->name,
            s->name, v, place_text(bd, bd->from[i], place), bd->from[i] < GIVEN && bd->from[i] & 1 ? MARKED : "");
    if (s->div > 1 && v % s->div)
        return no_multiple(bd, i);
    return SETT_OK;
}

static sett_status bind_symbols(binder *bd)
{
    for (uint32_t s = 0; s < given_symbols(bd->sig); s++)
        bd->from[s] = UNBOUND;
    bind_extents(bd);
    bind_strides(bd, false);
    sett_status st = bind_given(bd);
    if (!st)
        bind_strides(bd, true);
    for (uint32_t s = 0; s < given_symbols(bd->sig) && !st; s++)
        st = check_symbol(bd, s);
    return st;
}

/* ---- layouts ------------------------------------------------------------------------------------ */
static sett_status disagree(const binder *bd, const mode_ref *m, sett__expr e, bool stride, int64_t got, int64_t want)
{
    char leaf[160], place[160], expr[200], shape[300];
    const sett__xop *x = &bd->sig->code[e.first];
    leaf_text(m, bd, stride, leaf);
    if (e.count == 1 && x->code == SETT__X_CONST && stride && want == 1)
        return not_contiguous(bd, m->param, m->mode, got);
    if (e.count == 1 && x->code == SETT__X_CONST && stride)
        return REFUSE(bd, SETT_E_SHAPE, "%s: the stride of %.100s's mode %d is %" PRId64 ", the kernel was made for %" PRId64
            ": make the tensor contiguous, or that stride of the kernel's a symbol", bd->name, bd->sig->param[m->param].name, m->mode, got, want);
    if (e.count == 1 && x->code == SETT__X_CONST)
        return REFUSE(bd, SETT_E_SHAPE, "%s: %s is %" PRId64 ", the kernel was made for %" PRId64, bd->name, leaf, got, want);
    if (e.count == 1 && x->code == SETT__X_SYM)
        return REFUSE(bd, SETT_E_SHAPE, "%s: %s is %" PRId64 ", %s gives %s = %" PRId64 "%s", bd->name, leaf, got,
            place_text(bd, bd->from[x->imm], place), bd->sig->sym[x->imm].name, want, stride || bd->sig->param[m->param].rank < 2 ? "" : shape_text(bd, m->param, shape));
    sett__expr_words(bd->sig, e, expr, sizeof expr);
    return REFUSE(bd, SETT_E_SHAPE, "%s: %s is %" PRId64 ", %s is %" PRId64, bd->name, leaf, got, expr, want);
}

static sett_status no_value(const binder *bd, const mode_ref *m, sett__expr e, bool stride)
{
    char leaf[160], expr[200];
    sett__expr_words(bd->sig, e, expr, sizeof expr);
    return REFUSE(bd, SETT_E_RANGE, "%s: %s, %s, overflows or divides by zero", bd->name, leaf_text(m, bd, stride, leaf), expr);
}

/* A mode of several leaves against one extent and stride: the leaves must fold to them. */
static sett_status check_nested(const binder *bd, const mode_ref *m, bool strides)
{
    int64_t size = 1, next = m->stride, extent, stride;
    for (const sett__leaf *l = m->leaf; l < m->end; l++) {
        if (!eval(bd, l->extent, &extent) || extent < 0)
            return no_value(bd, m, l->extent, false);
        if (!eval(bd, l->stride, &stride))
            return no_value(bd, m, l->stride, true);
        if (strides && extent != 1 && stride != next)
            return REFUSE(bd, SETT_E_SHAPE, "%s: %s stride %d is %" PRId64 ", its nested mode needs %" PRId64 " where that gives %" PRId64,
                bd->name, bd->sig->param[m->param].name, m->mode, m->stride, stride, next);
        if (__builtin_mul_overflow(size, extent, &size) ||
            (extent != 1 && __builtin_mul_overflow(stride, extent, &next)))
            return no_value(bd, m, l->extent, false);
    }
    if (size != m->extent)
        return REFUSE(bd, SETT_E_SHAPE, "%s: %s mode %d is %" PRId64 ", its nested extents make %" PRId64, bd->name,
            bd->sig->param[m->param].name, m->mode, m->extent, size);
    return SETT_OK;
}

static sett_status check_mode(const binder *bd, const mode_ref *m, bool strides)
{
    int64_t want;
    strides = strides && m->extent > 1;
    if (m->end - m->leaf != 1)
        return check_nested(bd, m, strides);
    if (!eval(bd, m->leaf->extent, &want))
        return no_value(bd, m, m->leaf->extent, false);
    if (want != m->extent)
        return disagree(bd, m, m->leaf->extent, false, m->extent, want);
    if (!strides)
        return SETT_OK;
    if (!eval(bd, m->leaf->stride, &want))
        return no_value(bd, m, m->leaf->stride, true);
    return want == m->stride ? SETT_OK : disagree(bd, m, m->leaf->stride, true, m->stride, want);
}

/* Lowest and highest offset in elements; false: past 64 bits. */
static bool span(const sett_buf *t, int64_t *lo, int64_t *hi)
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

static sett_status check_memory(const binder *bd, uint32_t i, const sett_buf *t, sett__extent *x)
{
    const sett__param *p = &bd->sig->param[i];
    int64_t lo, hi, cosize, bits, low_bits;
    if (!t->data)
        return REFUSE(bd, SETT_E_BIND, "%s: %s is a null pointer", bd->name, p->name);
    if (p->align > 1 && (uintptr_t)t->data & (p->align - 1))
        return REFUSE(bd, SETT_E_ALIGN, "%s: %s is at %p, which is not a multiple of %u bytes", bd->name, p->name, t->data, (unsigned)p->align);
    if (!span(t, &lo, &hi) || __builtin_sub_overflow(hi, lo, &cosize) || __builtin_add_overflow(cosize, 1, &cosize) ||
        __builtin_mul_overflow(cosize, storage_bits(t->dtype), &bits) ||
        __builtin_mul_overflow(lo, storage_bits(t->dtype), &low_bits))
        return REFUSE(bd, SETT_E_RANGE, "%s: the extents and strides of %s overflow 64 bits", bd->name, p->name);
    if (!p->wide && (hi >= INT64_C(1) << 31 || lo < -(INT64_C(1) << 31)))
        return REFUSE(bd, SETT_E_RANGE, "%s: %s spans %" PRId64 " elements, past the 2^31 of 32-bit offsets: declare its symbols .wide" MARKED WIDE_INDEX,
            bd->name, p->name, cosize);
    if (x)
        *x = (sett__extent){(const void *)((uintptr_t)t->data + (uintptr_t)(low_bits / 8)), ((size_t)bits + 7) / 8};
    return SETT_OK;
}

static sett_status check_tensor(const binder *bd, uint32_t i, sett__extent *x)
{
    const sett_buf *t = bd->arg[i].u.t;
    mode_ref m = modes_of(bd, i);
    bool empty = empty_buffer(t);
    sett_status s = SETT_OK;
    while (!s && next_mode(bd, &bd->sig->param[i], t, &m))
        s = check_mode(bd, &m, !empty);
    if (s) /* a wrong extent makes wrong strides: it is the one to name */
        for (m = modes_of(bd, i); next_mode(bd, &bd->sig->param[i], t, &m);) {
            sett_status extent = check_mode(bd, &m, false);
            if (extent)
                return extent;
        }
    if (s || !empty)
        return s ? s : check_memory(bd, i, t, x);
    if (x)
        *x = (sett__extent){t->data, 0};
    return SETT_OK;
}

/* ---- dimensions --------------------------------------------------------------------------------------- */
/* "the grid's x, ceil_div(N, 4)," */
static const char *dim_text(const binder *bd, sett__expr e, const dim_rule *rule, int i, char buf[300])
{
    char expr[200];
    bool constant = e.count == 1 && bd->sig->code[e.first].code == SETT__X_CONST;
    sett__expr_words(bd->sig, e, expr, sizeof expr);
    snprintf(buf, 300, "the %s's %c%s%s%s", rule->what, "xyz"[i], constant ? "" : ", ", constant ? "" : expr, constant ? "" : ",");
    return buf;
}

static sett_status eval_dims(const binder *bd, const sett__expr e[3], const dim_rule *rule, uint32_t out[3])
{
    char text[300];
    for (int i = 0; i < 3; i++) {
        int64_t v = 1;
        if (e[i].count && !eval(bd, e[i], &v))
            return REFUSE(bd, SETT_E_RANGE, "%s: %s overflows or divides by zero", bd->name, dim_text(bd, e[i], rule, i, text));
        if (v < rule->least || v > rule->most[i])
            return REFUSE(bd, SETT_E_LIMIT, "%s: %s is %" PRId64 "; its limits are %" PRId64 " and %" PRId64, bd->name,
                dim_text(bd, e[i], rule, i, text), v, rule->least, rule->most[i]);
        out[i] = (uint32_t)v;
    }
    return SETT_OK;
}

static sett_status no_smem(const binder *bd, bool known, int64_t more)
{
    const sett__sig *sig = bd->sig;
    char expr[200];
    if (!sig->smem_more.count)
        return REFUSE(bd, SETT_E_LIMIT, "%s: %u bytes of shared memory; %d is the limit", bd->name, (unsigned)sig->smem, SETT__SMEM_MAX);
    sett__expr_words(sig, sig->smem_more, expr, sizeof expr);
    if (!known)
        return REFUSE(bd, SETT_E_RANGE, "%s: the bytes of shared memory, %s, overflow or divide by zero", bd->name, expr);
    return REFUSE(bd, SETT_E_LIMIT, "%s: %u bytes of shared memory and %s = %" PRId64 " that the launch adds; the limit is %d",
        bd->name, (unsigned)sig->smem, expr, more, SETT__SMEM_MAX);
}

/* What is given at launch is all of the window, or nothing. */
static sett_status bind_smem(const binder *bd, sett__launch_dims *d)
{
    const sett__sig *sig = bd->sig;
    int64_t more = 0;
    bool known = !sig->smem_more.count || eval(bd, sig->smem_more, &more);
    if (known && more >= 0 && more <= SETT__SMEM_MAX - (int64_t)sig->smem) {
        d->smem = sett__smem_static(sig) ? 0 : sig->smem + (uint32_t)more;
        return SETT_OK;
    }
    return no_smem(bd, known, more);
}

static sett_status bind_dims(const binder *bd, sett__bound *out)
{
    sett__launch_dims *d = &out->dims;
    sett_status s = eval_dims(bd, bd->sig->grid, &dim_rules[0], d->grid);
    if (!s)
        s = eval_dims(bd, bd->sig->block, &dim_rules[1], d->block);
    if (!s)
        s = eval_dims(bd, bd->sig->cluster, &dim_rules[2], d->cluster);
    if (s)
        return s;
    uint32_t threads = d->block[0] * d->block[1] * d->block[2];
    if (threads > SETT__BLOCK_THREADS)
        return REFUSE(bd, SETT_E_LIMIT, "%s: a block of %u threads; %d is the limit", bd->name, (unsigned)threads, SETT__BLOCK_THREADS);
    for (int i = 0; i < 3; i++)
        if (d->grid[i] % d->cluster[i])
            return REFUSE(bd, SETT_E_DIVIDE, "%s: the grid's %c is %u, which is not a multiple of the cluster's, %u", bd->name, "xyz"[i],
                (unsigned)d->grid[i], (unsigned)d->cluster[i]);
    uint32_t blocks = d->cluster[0] * d->cluster[1] * d->cluster[2], most = bd->sig->big_cluster ? 16 : 8;
    if (blocks > most)
        return REFUSE(bd, SETT_E_LIMIT, "%s: a cluster of %u blocks; %u is the limit", bd->name, (unsigned)blocks, (unsigned)most);
    s = bind_smem(bd, d);
    if (s)
        return s;
    out->empty = !d->grid[0] || !d->grid[1] || !d->grid[2];
    return SETT_OK;
}

/* ---- what the body relies on --------------------------------------------------------------------------- */
/* "N = 8, M = 3": what an expression is made of. */
static const char *values_text(const binder *bd, sett__expr e, char buf[200])
{
    size_t at = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < e.count && at < 200; i++) {
        const sett__xop *x = &bd->sig->code[e.first + i];
        bool seen = x->code != SETT__X_SYM && x->code != SETT__X_SCALAR;
        for (uint32_t j = 0; j < i && !seen; j++) {
            const sett__xop *y = &bd->sig->code[e.first + j];
            seen = y->code == x->code && y->imm == x->imm;
        }
        if (seen)
            continue;
        bool sym = x->code == SETT__X_SYM;
        at += (size_t)snprintf(buf + at, 200 - at, "%s%.60s = %" PRId64, at ? ", " : "",
            sym ? bd->sig->sym[x->imm].name : bd->sig->param[x->imm].name, sym ? bd->sym[x->imm] : bd->scalar[x->imm]);
    }
    return buf;
}

static sett_status broken(const binder *bd, const sett__check *k)
{
    char values[200], place[200] = "";
    if (k->file)
        snprintf(place, sizeof place, "%.180s:%u: ", k->file, (unsigned)k->line);
    return REFUSE(bd, SETT_E_DIVIDE, "%s: %s%s, and %s", bd->name, place, k->text, values_text(bd, k->expr, values));
}

static sett_status check_promises(const binder *bd)
{
    for (uint32_t i = 0; i < bd->sig->n_check; i++) {
        const sett__check *k = &bd->sig->check[i];
        int64_t v;
        if (!eval(bd, k->expr, &v) || v)
            return broken(bd, k);
    }
    return SETT_OK;
}

/* What the launch computes for the kernel: divisors, and what they are multiplied by instead. */
static sett_status no_derived(const binder *bd, const sett__symbol *s, int64_t v, bool known)
{
    char expr[200], values[200];
    sett__expr_words(bd->sig, s->value, expr, sizeof expr);
    values_text(bd, s->value, values);
    if (known)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s, %s, is %" PRId64 ", not 0 to 2^31 - 1, where %s", bd->name, s->name, expr, v, values);
    return REFUSE(bd, SETT_E_RANGE, "%s: %s, %s, has no value where %s: a divisor is 1 to 2^31 - 1", bd->name, s->name, expr, values);
}

static sett_status derive(binder *bd)
{
    for (uint32_t i = given_symbols(bd->sig); i < bd->sig->n_sym; i++) {
        const sett__symbol *s = &bd->sig->sym[i];
        bool known = eval(bd, s->value, &bd->sym[i]);
        if (!known || bd->sym[i] < 0 || bd->sym[i] > INT32_MAX)
            return no_derived(bd, s, bd->sym[i], known);
    }
    return SETT_OK;
}

/* ---- packing ---------------------------------------------------------------------------------------------- */
/* At its natural alignment; gaps are zero, so that equal arguments make equal blocks. */
static uint32_t put(sett__bound *out, uint32_t at, uint64_t value, uint32_t size)
{
    while (at & (size - 1))
        out->params[at++] = 0;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the packed block is written for little-endian hosts, as CUDA's are"
#endif
    memcpy(out->params + at, &value, size);
    return at + size;
}

static uint32_t put_struct(sett__bound *out, uint32_t at, const sett__param *p, const void *from)
{
    while (at & (p->align - 1))
        out->params[at++] = 0;
    memcpy(out->params + at, from, p->bytes);
    return at + p->bytes;
}

static uint64_t scalar_bits(const binder *bd, uint32_t i)
{
    const sett_launch_arg *a = &bd->arg[i];
    sett_dtype dtype = (sett_dtype)bd->sig->param[i].dtype;
    if (!sett__dtype_is_float(dtype))
        return (uint64_t)a->u.i;
    return sett__bits_of_float(dtype, a->kind == SETT_LAUNCH_ARG_FLOAT ? a->u.f : (double)a->u.i);
}

static void pack(const binder *bd, bool gpu, sett__bound *out)
{
    const sett__sig *sig = bd->sig;
    uint32_t at = 0;
    for (uint32_t i = 0; i < sig->n_param; i++)
        if (sig->param[i].scalar == SETT__BY_STRUCT)
            at = put_struct(out, at, &sig->param[i], bd->arg[i].u.p);
        else if (sig->param[i].scalar)
            at = put(out, at, scalar_bits(bd, i), (uint32_t)sett__dtype_bytes((sett_dtype)sig->param[i].dtype));
        else
            at = put(out, at, (uintptr_t)bd->arg[i].u.t->data, 8);
    for (uint32_t s = 0; s < sig->n_sym; s++)
        at = put(out, at, (uint64_t)bd->sym[s], sig->sym[s].wide ? 8 : 4);
    if (gpu && sig->n_claim)
        at = put(out, at, 0, 8); /* sett__gpu_address fills it in */
    out->params_len = at;
}

sett_status reference_bind(const sett__sig *sig, const char *name, int n, const sett_launch_arg *arg, bool gpu, sett__bound *out,
    sett__extent *extents, sett_error *err)
{
    binder bd;
    bd.sig = sig, bd.name = name, bd.arg = arg, bd.n = n, bd.err = err;
    sett_status s = check_arguments(&bd);
    if (!s)
        s = bind_symbols(&bd);
    for (uint32_t i = 0; i < sig->n_param && !s; i++)
        if (!sig->param[i].scalar)
            s = check_tensor(&bd, i, extents ? &extents[i] : NULL);
        else if (extents)
            extents[i] = (sett__extent){NULL, 0};
    if (!s)
        s = check_promises(&bd);
    if (!s)
        s = bind_dims(&bd, out);
    if (!s && !out->empty)
        s = derive(&bd);
    for (uint32_t i = given_symbols(sig); i < sig->n_sym && !s && out->empty; i++)
        bd.sym[i] = 0; /* nothing runs: extents of 0 divide nothing */
    if (!s)
        pack(&bd, gpu, out);
    return s;
}
