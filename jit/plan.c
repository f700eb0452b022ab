/* SPDX-License-Identifier: Apache-2.0 */
/* What bind.c would find out at each launch of a GPU's kernel and is the same at all of them, worked out once: which buffer
 * gives each symbol, what each extent and stride must be, where each argument lies in the packed block. A plan is a few cache
 * lines, as a launch in the driver leaves little of ours in the caches. It only ever says yes: whatever it is not sure of goes
 * to bind.c, which has the last word and the text. */
#include "jit.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { GIVEN = 0xFFFF }; /* of sym_plan.arg: no buffer has it */
enum { REACH = 54 };     /* bits of what a mode may reach: sums of all modes do not overflow */

typedef enum want { WANT_CONST, WANT_SYM, WANT_EXPR } want; /* what an extent or stride must be */
typedef struct mode_plan {
    int32_t extent, stride; /* the number; the symbol; the leaf, whose expression it is */
    uint8_t extent_want, stride_want;
} mode_plan;
enum { BY_STRUCT = 0xFF };
typedef struct arg_plan {
    uint32_t dtype, rank; /* as they lie in a sett_buf */
    uint32_t low;         /* address bits that are zero; of a struct its bytes */
    uint16_t at;          /* in the packed block */
    uint8_t bits, scalar; /* how far it may reach: 2^bits; scalar: a number's bytes, or BY_STRUCT; 0: a buffer */
} arg_plan;
static_assert(offsetof(sett_buf, rank) == offsetof(sett_buf, dtype) + 4 && offsetof(arg_plan, rank) == 4, "compared at once");
typedef struct sym_plan {
    uint16_t arg;    /* whose buffer gives it, or GIVEN */
    uint16_t from;   /* where in the sett_buf */
    uint16_t extent; /* of one that a stride gives: where that mode's extent is; else 0 */
    uint16_t at;     /* in the packed block */
    uint32_t div;    /* a power of two: it less one; else the divisor, and odd is set */
    uint8_t bits, odd; /* bits: that it may have, 31 or 63 */
} sym_plan;
typedef enum dim_form { DIM_SYM, DIM_CEIL, DIM_EXPR } dim_form;
enum { SMEM = 9 };
typedef struct dim_plan {
    uint8_t slot, form; /* slot: in a sett__launch_dims as an array, where what is constant of it stands already */
    uint16_t sym;
    uint32_t by; /* of DIM_CEIL */
    uint32_t least, most;
    sett__expr expr;
} dim_plan;

struct sett__plan {
    uint16_t n_arg, n_sym, n_dim, params_len; /* n_sym: those that arguments give */
    bool gaps;        /* the packed block has bytes that nothing is written to */
    bool free_block;  /* the threads of a block are known only at launch */
    sett__launch_dims dims;
    const sett__sig *sig; /* expressions and what is rare */
    arg_plan *arg;
    mode_plan *mode;
    sym_plan *sym; /* behind the given ones those that the launch computes */
    dim_plan *dim;
};

/* ---- making it ----------------------------------------------------------------------------- */
static bool one_symbol(const sett__sig *sig, sett__expr e, int64_t *s)
{
    const sett__xop *x = e.count == 1 ? &sig->code[e.first] : NULL;
    return x && x->code == SETT__X_SYM && (*s = x->imm, true);
}

static uint8_t plan_want(const sett__sig *sig, sett__expr e, uint32_t leaf, int32_t *value)
{
    int64_t s;
    const sett__xop *x = &sig->code[e.first];
    if (one_symbol(sig, e, &s))
        return *value = (int32_t)s, WANT_SYM;
    if (e.count == 1 && x->code == SETT__X_CONST && x->imm == (int32_t)x->imm)
        return *value = (int32_t)x->imm, WANT_CONST;
    return *value = (int32_t)leaf, WANT_EXPR;
}

/* The first extent that is the symbol alone, else the first such stride: as bind.c takes them. */
static void plan_source(const sett__sig *sig, uint32_t s, sym_plan *to)
{
    int64_t found;
    to->arg = GIVEN;
    for (int strides = 0; strides < 2 && to->arg == GIVEN; strides++)
        for (uint32_t i = 0; i < sig->n_param && to->arg == GIVEN; i++)
            for (uint32_t j = 0; j < sig->param[i].n_leaf && to->arg == GIVEN; j++) {
                const sett__leaf *l = &sig->leaf[sig->param[i].leaf + j];
                uint16_t extent = (uint16_t)(offsetof(sett_buf, shape) + 8u * l->mode);
                if (!one_symbol(sig, strides ? l->stride : l->extent, &found) || found != s)
                    continue;
                to->arg = (uint16_t)i;
                to->extent = strides ? extent : 0;
                to->from = strides ? (uint16_t)(offsetof(sett_buf, stride) + 8u * l->mode) : extent;
            }
}

static bool plan_symbol(const sett__sig *sig, uint32_t i, sym_plan *to)
{
    const sett__symbol *s = &sig->sym[i];
    plan_source(sig, i, to);
    to->bits = s->wide ? 63 : 31;
    to->odd = (s->div & (s->div - 1)) != 0;
    to->div = (uint32_t)(to->odd ? s->div : s->div - 1);
    return s->div >= 1 && s->div <= INT32_MAX;
}

/* One leaf a mode, in order; false: nested ones are bind.c's. */
static bool plan_modes(const sett__sig *sig, const sett__param *p, mode_plan *to)
{
    bool plain = p->n_leaf == p->rank;
    for (uint32_t j = 0; j < p->n_leaf && plain; j++) {
        const sett__leaf *l = &sig->leaf[p->leaf + j];
        plain = l->mode == j;
        to[j].extent_want = plan_want(sig, l->extent, p->leaf + j, &to[j].extent);
        to[j].stride_want = plan_want(sig, l->stride, p->leaf + j, &to[j].stride);
    }
    return plain;
}

/* ceil(symbol / number), as sett_ceil_div records it (min(s % d, 1) + s / d). */
static bool is_ceil(const sett__sig *sig, sett__expr e, dim_plan *d)
{
    static const uint8_t form[] = {SETT__X_SYM, SETT__X_CONST, SETT__X_REM, SETT__X_CONST, SETT__X_MIN, SETT__X_SYM, SETT__X_CONST,
        SETT__X_DIV, SETT__X_ADD};
    const sett__xop *x = &sig->code[e.first];
    bool is = e.count == sizeof form;
    for (size_t i = 0; i < sizeof form && is; i++)
        is = x[i].code == form[i];
    if (!is || x[0].imm != x[5].imm || x[1].imm != x[6].imm || x[3].imm != 1 || x[1].imm < 1 || x[1].imm > INT32_MAX)
        return false;
    d->sym = (uint16_t)x[0].imm;
    d->by = (uint32_t)x[1].imm;
    return true;
}

static bool plan_dim(sett__plan *p, uint8_t slot, sett__expr e, const sett__dim_rule *rule)
{
    uint32_t *dims = (uint32_t *)(void *)&p->dims;
    int64_t v = 1, s;
    if (!e.count || sett__expr_const(p->sig, e, &v)) {
        dims[slot] = (uint32_t)v;
        return v >= 1 && v <= rule->most[slot % 3];
    }
    dim_plan *d = &p->dim[p->n_dim++];
    *d = (dim_plan){.slot = slot, .form = DIM_EXPR, .least = 1, .most = (uint32_t)rule->most[slot % 3], .expr = e};
    if (one_symbol(p->sig, e, &s))
        d->form = DIM_SYM, d->sym = (uint16_t)s;
    else if (is_ceil(p->sig, e, d))
        d->form = DIM_CEIL;
    p->free_block |= slot / 3 == 1;
    return true;
}
static_assert(offsetof(sett__launch_dims, cluster) == 24 && offsetof(sett__launch_dims, smem) == 4 * SMEM, "an array of three threes and one");

static bool plan_dims(sett__plan *p)
{
    const sett__expr *const of[3] = {p->sig->grid, p->sig->block, p->sig->cluster};
    bool ok = true;
    for (uint8_t slot = 0; slot < 9 && ok; slot++)
        ok = plan_dim(p, slot, of[slot / 3][slot % 3], &sett__dim_rules[slot / 3]);
    const uint32_t *b = p->dims.block;
    p->dims.smem = sett__smem_static(p->sig) ? 0 : p->sig->smem;
    if (p->sig->smem_more.count)
        p->dim[p->n_dim++] = (dim_plan){.slot = SMEM, .form = DIM_EXPR, .most = SETT__SMEM_MAX - p->sig->smem, .expr = p->sig->smem_more};
    return ok && (p->free_block || b[0] * b[1] * b[2] <= SETT__BLOCK_THREADS) && p->sig->smem <= SETT__SMEM_MAX;
}

/* Each at its alignment, as bind.c packs. */
static uint16_t place(sett__plan *p, uint32_t *end, uint32_t align, uint32_t size)
{
    uint32_t at = (*end + align - 1) & ~(align - 1);
    p->gaps |= at != *end;
    *end = at + size;
    return (uint16_t)at;
}

static bool plan_arguments(sett__plan *p)
{
    const sett__sig *sig = p->sig;
    mode_plan *mode = p->mode;
    uint32_t end = 0;
    bool ok = sett__params_len(sig) <= SETT__PARAM_BYTES;
    for (uint32_t i = 0; i < sig->n_param && ok; i++) {
        const sett__param *q = &sig->param[i];
        uint32_t bytes = q->scalar ? (uint32_t)sett__dtype_bytes((sett_dtype)q->dtype) : 8;
        p->arg[i] = q->bytes ? (arg_plan){.low = q->bytes, .at = place(p, &end, q->align, q->bytes), .scalar = BY_STRUCT}
                             : (arg_plan){q->dtype, q->rank, q->align ? q->align - 1 : 0, place(p, &end, bytes, bytes), q->wide ? REACH : 31,
                                   (uint8_t)(q->scalar ? bytes : 0)};
        ok = q->scalar || plan_modes(sig, q, mode);
        mode += q->n_leaf;
    }
    for (uint32_t i = 0; i < sig->n_sym && ok; i++) {
        ok = plan_symbol(sig, i, &p->sym[i]);
        uint32_t bytes = sig->sym[i].wide ? 8 : 4;
        p->sym[i].at = place(p, &end, bytes, bytes);
    }
    p->params_len = (uint16_t)sett__params_len(sig);
    p->gaps |= sig->n_claim != 0;
    return ok;
}

const sett__plan *sett__plan_make(sett__arena *a, const sett__sig *sig)
{
    size_t args = sig->n_param * sizeof(arg_plan), modes = sig->n_leaf * sizeof(mode_plan), dims = 0;
    size_t syms = sig->n_sym * sizeof(sym_plan);
    const sett__expr *const of[3] = {sig->grid, sig->block, sig->cluster};
    int64_t v;
    dims += sig->smem_more.count ? sizeof(dim_plan) : 0;
    for (int i = 0; i < 9; i++)
        dims += of[i / 3][i % 3].count && !sett__expr_const(sig, of[i / 3][i % 3], &v) ? sizeof(dim_plan) : 0;
    sett__plan *p = sett__arena_alloc(a, sizeof *p + args + modes + syms + dims);
    if (!p)
        return NULL;
    p->sig = sig;
    p->n_arg = (uint16_t)sig->n_param;
    p->n_sym = (uint16_t)(sig->n_sym - sig->n_derived);
    p->arg = (void *)(p + 1);
    p->mode = (void *)((char *)p->arg + args);
    p->sym = (void *)((char *)p->mode + modes);
    p->dim = (void *)((char *)p->sym + syms);
    return plan_arguments(p) && plan_dims(p) ? p : NULL;
}

/* ---- following it ---------------------------------------------------------------------------- */
typedef struct state {
    const sett__plan *p;
    const sett_bind *arg;
    sett__bound *out;
    int64_t sym[SETT__MAX_ARGS], scalar[SETT__MAX_ARGS];
} state;

static inline bool expr(const state *st, sett__expr e, int64_t *v)
{
    return sett__expr_eval(st->p->sig, e, st->sym, st->scalar, v);
}

static bool take_scalar(state *st, uint32_t i)
{
    const sett_bind *b = &st->arg[i];
    const arg_plan *a = &st->p->arg[i];
    const sett_dtype dtype = (sett_dtype)a->dtype;
    uint64_t bits;
    if (a->scalar == BY_STRUCT) {
        bool fits = b->kind == SETT_BIND_STRUCT && b->bytes == a->low && b->u.p;
        return fits && memcpy(st->out->params + a->at, b->u.p, a->low);
    }
    if (sett__dtype_is_float(dtype)) {
        double d = b->kind == SETT_BIND_FLOAT ? b->u.f : (double)b->u.i;
        if ((b->kind != SETT_BIND_FLOAT && b->kind != SETT_BIND_INT) || (a->scalar < 8 && fabs(d) > (a->scalar < 4 ? 65503 : 3e38)))
            return false;
        bits = sett__bits_of_float(dtype, d);
    } else {
        int64_t v = b->u.i;
        if (b->kind != SETT_BIND_INT || !sett__int_fits(dtype, v))
            return false;
        st->scalar[i] = v;
        bits = (uint64_t)v;
    }
    memcpy(st->out->params + a->at, &bits, a->scalar);
    return true;
}

/* Kinds, types, ranks; numbers go into the block. */
static inline bool take_arguments(state *st)
{
    const sett_bind *b = st->arg;
    for (const arg_plan *a = st->p->arg, *end = a + st->p->n_arg; a < end; a++, b++) {
        const sett_buf *t = b->u.t;
        if (a->scalar ? !take_scalar(st, (uint32_t)(a - st->p->arg)) : b->kind != SETT_BIND_BUF || !t || memcmp(&t->dtype, &a->dtype, 8))
            return false;
    }
    return true;
}

static inline int64_t number_at(const sett_buf *t, uint16_t offset)
{
    int64_t v;
    memcpy(&v, (const char *)t + offset, sizeof v);
    return v;
}

static inline void put_symbol(unsigned char *params, const sym_plan *s, int64_t v)
{
    const int32_t low = (int32_t)v;
    if (s->bits > 31)
        memcpy(params + s->at, &v, sizeof v);
    else
        memcpy(params + s->at, &low, sizeof low);
}

/* given: entries behind the parameters; one that buffers give too must say the same. */
static inline bool take_symbols(state *st, uint32_t given)
{
    unsigned char *params = st->out->params;
    for (uint32_t i = 0, n = st->p->n_sym; i < n; i++) {
        const sym_plan *s = &st->p->sym[i];
        const sett_bind *b = &st->arg[st->p->n_arg + i];
        int kind = i < given ? b->kind : 0;
        int64_t v = s->arg == GIVEN ? (kind == SETT_BIND_INT ? b->u.i : -1) : number_at(st->arg[s->arg].u.t, s->from);
        if ((kind && (kind != SETT_BIND_INT || b->u.i != v)) || (uint64_t)v >> s->bits || (s->odd ? v % s->div : v & s->div) ||
            (s->extent && number_at(st->arg[s->arg].u.t, s->extent) <= 1))
            return false;
        st->sym[i] = v;
        put_symbol(params, s, v);
    }
    return true;
}

/* Of an extent or stride that is no symbol and no number. */
static __attribute__((noinline)) bool is_expr(const state *st, const mode_plan *m, bool stride, int64_t v)
{
    const sett__leaf *leaf = &st->p->sig->leaf[stride ? m->stride : m->extent];
    int64_t w;
    return expr(st, stride ? leaf->stride : leaf->extent, &w) && w == v;
}

static inline bool is_extent(const state *st, const mode_plan *m, int64_t v)
{
    return m->extent_want == WANT_SYM ? st->sym[m->extent] == v : m->extent_want == WANT_CONST ? m->extent == v : is_expr(st, m, false, v);
}

static inline bool is_stride(const state *st, const mode_plan *m, int64_t v)
{
    return m->stride_want == WANT_SYM ? st->sym[m->stride] == v : m->stride_want == WANT_CONST ? m->stride == v : is_expr(st, m, true, v);
}

/* Extents, strides, alignment, how far it reaches. A buffer without elements is bind.c's. */
static inline bool check_buffer(const state *st, const arg_plan *a, const mode_plan *m, const sett_buf *t)
{
    int64_t lo = 0, hi = 0, far;
    if (!t->data || (uintptr_t)t->data & a->low)
        return false;
    for (const int64_t *extent = t->shape, *end = extent + a->rank; extent < end; extent++, m++) {
        if (*extent < 1 || !is_extent(st, m, *extent))
            return false;
        if (*extent == 1)
            continue;
        const int64_t stride = t->stride[extent - t->shape];
        if (!is_stride(st, m, stride) || __builtin_mul_overflow(*extent - 1, stride, &far) || ((uint64_t)far + (UINT64_C(1) << REACH)) >> (REACH + 1))
            return false;
        if (far < 0)
            lo += far;
        else
            hi += far;
    }
    memcpy(st->out->params + a->at, &t->data, 8);
    return !(hi >> a->bits) && lo >> a->bits >= -1;
}

static inline bool check_buffers(state *st)
{
    const mode_plan *m = st->p->mode;
    const sett_bind *b = st->arg;
    for (const arg_plan *a = st->p->arg, *end = a + st->p->n_arg; a < end; a++, b++) {
        if (a->scalar)
            continue;
        if (!check_buffer(st, a, m, b->u.t))
            return false;
        m += a->rank;
    }
    return true;
}

static inline bool eval_dims(state *st)
{
    uint32_t *dims = (uint32_t *)(void *)&st->out->dims;
    st->out->dims = st->p->dims;
    for (uint32_t i = 0; i < st->p->n_dim; i++) {
        const dim_plan *d = &st->p->dim[i];
        int64_t v = st->sym[d->sym];
        if (d->form == DIM_CEIL)
            v = (uint64_t)v >> 32 ? v / d->by + (v % d->by != 0) : (int64_t)(((uint64_t)v + d->by - 1) / d->by);
        else if (d->form == DIM_EXPR && !expr(st, d->expr, &v))
            return false;
        if (v < d->least || v > d->most)
            return false;
        dims[d->slot] += (uint32_t)v;
    }
    const uint32_t *b = st->out->dims.block;
    return !st->p->free_block || (uint64_t)b[0] * b[1] * b[2] <= SETT__BLOCK_THREADS;
}

/* What the body relies on, and what the launch computes for it. */
static inline bool eval_rest(state *st)
{
    const sett__sig *sig = st->p->sig;
    int64_t v;
    for (uint32_t i = 0; i < sig->n_check; i++)
        if (!expr(st, sig->check[i].expr, &v) || v)
            return false;
    for (uint32_t i = st->p->n_sym; i < sig->n_sym; i++) {
        if (!expr(st, sig->sym[i].value, &v) || v < 0 || v > INT32_MAX)
            return false;
        put_symbol(st->out->params, &st->p->sym[i], v);
    }
    return true;
}

SETT__HOT bool sett__plan_follow(const sett__plan *p, int n, const sett_bind *arg, sett__bound *out)
{
    state st;
    uint32_t given = (uint32_t)n - p->n_arg;
    if (n < p->n_arg || given > p->n_sym || (n && !arg))
        return false;
    st.p = p, st.arg = arg, st.out = out;
    if (p->gaps)
        memset(out->params, 0, p->params_len);
    out->params_len = p->params_len;
    out->empty = false;
    return take_arguments(&st) && take_symbols(&st, given) && check_buffers(&st) && eval_dims(&st) && eval_rest(&st);
}
