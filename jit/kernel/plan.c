/* SPDX-License-Identifier: Apache-2.0 */
/* What bind.c would find out at each launch of a GPU's kernel and is the same at all of them, worked out once: which buffer
 * gives each symbol, what each extent and stride must be, where each argument lies in the packed block. A plan is a few cache
 * lines, as a launch in the driver leaves little of ours in the caches. It only ever says yes: whatever it is not sure of goes
 * to bind.c, which has the last word and the text. */
#include "kernel.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { GIVEN = 0xFF }; /* of sym_plan.arg: no buffer has it */
enum { REACH = 54 };   /* bits of what a mode may reach: sums of all modes do not overflow */

/* What an extent or stride must be: this number; from SYM on a symbol; from WORD on the number in a word, from EXPR on the
 * expression there, whose first word says of how many words. */
typedef struct mode_plan {
    uint16_t extent, stride;
} mode_plan;
enum { SYM = 0x4000, WORD = 0x8000, EXPR = 0xC000, WORDS = 0x4000 };
enum { BY_STRUCT = 0xFF };
typedef struct arg_plan {
    uint8_t dtype, rank;
    uint8_t bits, scalar; /* how far it may reach: 2^bits; scalar: a number's bytes, or BY_STRUCT; 0: a buffer */
    uint16_t low;         /* address bits that are zero; of a struct its bytes */
    uint16_t at;          /* in the packed block */
} arg_plan;
typedef struct sym_plan {
    uint8_t arg;    /* whose buffer gives it, or GIVEN */
    uint8_t from;   /* where in the sett_buf */
    uint8_t extent; /* of one that a stride gives: where that mode's extent is; else 0 */
    uint8_t bits;   /* that it may have, 31 or 63; and ODD */
    uint16_t at;    /* in the packed block */
    uint16_t div;   /* a power of two: it less one; ODD: the word with the divisor */
} sym_plan;
enum { ODD = 64 };
typedef enum dim_form { DIM_SYM, DIM_CEIL, DIM_EXPR, DIM_SMEM /* an expression too */ } dim_form;
enum { SMEM = 9 };
typedef struct dim_plan {
    uint8_t slot, form; /* slot: in a sett__launch_dims as an array, where what is constant of it stands already */
    uint16_t sym;       /* of an expression its word */
    uint32_t by; /* of DIM_CEIL */
    uint32_t most;
} dim_plan;

/* A line; behind it the arguments, the symbols (behind the given ones those that the launch computes), then what is found by
 * bytes from the start. It holds no address, so it can be moved. */
struct sett__plan {
    uint16_t n_arg, n_sym, n_dim, n_check, n_derived, params_len; /* n_sym: those that arguments give */
    uint16_t dim, mode, word; /* where they are */
    uint16_t n_word, rest;    /* rest: the word where checks, derived symbols and what launches do not read begin */
    bool gaps;       /* the packed block has bytes that nothing is written to */
    bool free_block; /* the threads of a block are known only at launch */
    sett__launch_dims dims;
};
static_assert(sizeof(struct sett__plan) == 64 && alignof(sett__plan) == 4, "a line, which may lie anywhere");

static inline const arg_plan *args_of(const sett__plan *p)
{
    return (const void *)(p + 1);
}

static inline const sym_plan *syms_of(const sett__plan *p)
{
    return (const void *)(args_of(p) + p->n_arg);
}

static inline const dim_plan *dims_of(const sett__plan *p)
{
    return (const void *)((const char *)p + p->dim);
}

static inline const mode_plan *modes_of(const sett__plan *p)
{
    return (const void *)((const char *)p + p->mode);
}

static inline const uint32_t *words_of(const sett__plan *p)
{
    return (const void *)((const char *)p + p->word);
}

size_t sett__plan_bytes(const sett__plan *p)
{
    return p->word + p->n_word * sizeof(uint32_t);
}

uint32_t sett__plan_struct(const sett__plan *p, size_t arg)
{
    return args_of(p)[arg].scalar == BY_STRUCT ? args_of(p)[arg].low : 0;
}

/* ---- making it ----------------------------------------------------------------------------- */
static bool one_symbol(const sett__sig *sig, sett__expr e, int64_t *s)
{
    const sett__xop *x = e.count == 1 ? &sig->code[e.first] : NULL;
    return x && x->code == SETT__X_SYM && (*s = x->imm, true);
}

typedef struct maker {
    sett__plan *p;
    const sett__sig *sig;
    arg_plan *arg;
    sym_plan *sym;
    dim_plan *dim;
    mode_plan *mode;
    uint32_t *word;
    uint32_t n_word; /* counts on past the last that fits */
} maker;

/* A number, or an expression with its length: its word. */
static uint32_t put_word(maker *m, uint32_t x)
{
    m->word[m->n_word] = x;
    return m->n_word++;
}

static uint32_t put_expr(maker *m, sett__expr e)
{
    uint32_t n = sett__expr_pack(m->sig, e, m->word + m->n_word + 1), at = put_word(m, n);
    m->n_word += n;
    return at;
}

static uint16_t plan_want(maker *m, sett__expr e)
{
    int64_t s;
    const sett__xop *x = &m->sig->code[e.first];
    if (one_symbol(m->sig, e, &s) && s < WORD - SYM)
        return (uint16_t)(SYM + s);
    if (e.count == 1 && x->code == SETT__X_CONST && x->imm >= 0 && x->imm < SYM)
        return (uint16_t)x->imm;
    bool number = e.count == 1 && x->code == SETT__X_CONST && x->imm == (int32_t)x->imm;
    uint32_t at = number ? put_word(m, (uint32_t)x->imm) : put_expr(m, e);
    return (uint16_t)((number ? WORD : EXPR) + at % WORDS); /* of too many there is no plan */
}

/* The first extent that is the symbol alone, else the first such stride: as bind.c takes them. */
static void plan_source(const sett__sig *sig, uint32_t s, sym_plan *to)
{
    int64_t found;
    to->arg = GIVEN;
    for (int strides = 0; strides < 2 && to->arg == GIVEN; strides++)
        for (uint32_t i = 0; i < sig->n_param && i < GIVEN && to->arg == GIVEN; i++)
            for (uint32_t j = 0; j < sig->param[i].n_leaf && to->arg == GIVEN; j++) {
                const sett__leaf *l = &sig->leaf[sig->param[i].leaf + j];
                uint8_t extent = (uint8_t)(offsetof(sett_buf, shape) + 8u * l->mode);
                if (!one_symbol(sig, strides ? l->stride : l->extent, &found) || found != s)
                    continue;
                to->arg = (uint8_t)i;
                to->extent = strides ? extent : 0;
                to->from = strides ? (uint8_t)(offsetof(sett_buf, stride) + 8u * l->mode) : extent;
            }
}

static bool plan_symbol(maker *m, uint32_t i)
{
    const sett__symbol *s = &m->sig->sym[i];
    sym_plan *to = &m->sym[i];
    bool odd = (s->div & (s->div - 1)) != 0 || s->div > UINT16_MAX;
    plan_source(m->sig, i, to);
    to->bits = (uint8_t)((s->wide ? 63 : 31) | (odd ? ODD : 0));
    to->div = (uint16_t)(odd ? put_word(m, (uint32_t)s->div) : (uint32_t)s->div - 1);
    return s->div >= 1 && s->div <= INT32_MAX;
}

/* One leaf a mode, in order; false: nested ones are bind.c's. */
static bool plan_modes(maker *m, const sett__param *p, mode_plan *to)
{
    bool plain = p->n_leaf == p->rank;
    for (uint32_t j = 0; j < p->n_leaf && plain; j++) {
        const sett__leaf *l = &m->sig->leaf[p->leaf + j];
        plain = l->mode == j;
        to[j].extent = plan_want(m, l->extent);
        to[j].stride = plan_want(m, l->stride);
    }
    return plain;
}

/* ceil(symbol / number), as sett_ceil_div records it (min(s % d, 1) + s / d). */
static const uint8_t ceil_form[] = {SETT__X_SYM, SETT__X_CONST, SETT__X_REM, SETT__X_CONST, SETT__X_MIN, SETT__X_SYM, SETT__X_CONST,
    SETT__X_DIV, SETT__X_ADD};
static bool is_ceil(const sett__sig *sig, sett__expr e, dim_plan *d)
{
    const sett__xop *x = &sig->code[e.first];
    bool is = e.count == sizeof ceil_form;
    for (size_t i = 0; i < sizeof ceil_form && is; i++)
        is = x[i].code == ceil_form[i];
    if (!is || x[0].imm != x[5].imm || x[1].imm != x[6].imm || x[3].imm != 1 || x[1].imm < 1 || x[1].imm > INT32_MAX)
        return false;
    d->sym = (uint16_t)x[0].imm;
    d->by = (uint32_t)x[1].imm;
    return true;
}

static bool plan_dim(maker *m, uint8_t slot, sett__expr e, const sett__dim_rule *rule)
{
    uint32_t *dims = (uint32_t *)(void *)&m->p->dims;
    int64_t v = 1, s;
    if (!e.count || sett__expr_const(m->sig, e, &v)) {
        dims[slot] = (uint32_t)v;
        return v >= 1 && v <= rule->most[slot % 3];
    }
    dim_plan *d = &m->dim[m->p->n_dim++];
    *d = (dim_plan){.slot = slot, .form = DIM_EXPR, .most = (uint32_t)rule->most[slot % 3]};
    if (one_symbol(m->sig, e, &s))
        d->form = DIM_SYM, d->sym = (uint16_t)s;
    else if (is_ceil(m->sig, e, d))
        d->form = DIM_CEIL;
    else
        d->sym = (uint16_t)put_expr(m, e);
    m->p->free_block |= slot / 3 == 1;
    return true;
}
static_assert(offsetof(sett__launch_dims, cluster) == 24 && offsetof(sett__launch_dims, smem) == 4 * SMEM, "an array of three threes and one");

static bool plan_dims(maker *m)
{
    sett__plan *p = m->p;
    const sett__sig *sig = m->sig;
    const sett__expr *const of[3] = {sig->grid, sig->block, sig->cluster};
    bool ok = true;
    for (uint8_t slot = 0; slot < 9 && ok; slot++)
        ok = plan_dim(m, slot, of[slot / 3][slot % 3], &sett__dim_rules[slot / 3]);
    const uint32_t *b = p->dims.block;
    p->dims.smem = sett__smem_static(sig) ? 0 : sig->smem;
    if (sig->smem_more.count)
        m->dim[p->n_dim++] = (dim_plan){
            .slot = SMEM, .form = DIM_SMEM, .most = SETT__SMEM_MAX - sig->smem, .sym = (uint16_t)put_expr(m, sig->smem_more)};
    return ok && (p->free_block || b[0] * b[1] * b[2] <= SETT__BLOCK_THREADS) && sig->smem <= SETT__SMEM_MAX;
}

/* Each at its alignment, as bind.c packs. */
static uint16_t place(sett__plan *p, uint32_t *end, uint32_t align, uint32_t size)
{
    uint32_t at = (*end + align - 1) & ~(align - 1);
    p->gaps |= at != *end;
    *end = at + size;
    return (uint16_t)at;
}

static bool plan_arguments(maker *m)
{
    sett__plan *p = m->p;
    const sett__sig *sig = m->sig;
    mode_plan *mode = m->mode;
    uint32_t end = 0;
    bool ok = sett__params_len(sig) <= SETT__PARAM_BYTES;
    for (uint32_t i = 0; i < sig->n_param && ok; i++) {
        const sett__param *q = &sig->param[i];
        uint32_t bytes = q->scalar ? (uint32_t)sett__dtype_bytes((sett_dtype)q->dtype) : 8;
        m->arg[i] = q->bytes ? (arg_plan){.low = (uint16_t)q->bytes, .at = place(p, &end, q->align, q->bytes), .scalar = BY_STRUCT}
                             : (arg_plan){.dtype = q->dtype, .rank = q->rank, .low = (uint16_t)(q->align ? q->align - 1 : 0),
                                   .at = place(p, &end, bytes, bytes), .bits = q->wide ? REACH : 31, .scalar = (uint8_t)(q->scalar ? bytes : 0)};
        ok = q->scalar || (q->align <= UINT16_MAX + 1 && plan_modes(m, q, mode));
        mode += q->n_leaf;
    }
    for (uint32_t i = 0; i < sig->n_sym && ok; i++) {
        ok = plan_symbol(m, i);
        uint32_t bytes = sig->sym[i].wide ? 8 : 4;
        m->sym[i].at = place(p, &end, bytes, bytes);
    }
    p->params_len = (uint16_t)sett__params_len(sig);
    p->gaps |= sig->n_claim != 0;
    return ok;
}

static void put_address(maker *m, const void *p)
{
    put_word(m, (uint32_t)(uintptr_t)p);
    put_word(m, (uint32_t)((uint64_t)(uintptr_t)p >> 32));
}

/* What the body relies on, and what the launch computes for it; then what sett__plan_sig needs beside. */
enum { SAID_BITS = 3 /* access, restricted; above them the alignment's power */ };
static void plan_rest(maker *m)
{
    const sett__sig *sig = m->sig;
    m->p->rest = (uint16_t)m->n_word;
    m->p->n_check = (uint16_t)sig->n_check;
    m->p->n_derived = (uint16_t)sig->n_derived;
    for (uint32_t i = 0; i < sig->n_check; i++)
        put_expr(m, sig->check[i].expr);
    for (uint32_t i = sig->n_sym - sig->n_derived; i < sig->n_sym; i++)
        put_expr(m, sig->sym[i].value);
    put_word(m, sig->smem);
    put_word(m, sig->smem_align << 1 | sig->early);
    put_word(m, sig->n_claim);
    uint8_t *said = (uint8_t *)(m->word + m->n_word);
    for (uint32_t i = 0; i < sig->n_param; i++) {
        const sett__param *q = &sig->param[i];
        said[i] = (uint8_t)(q->access | q->restricted << 2 | (q->align ? __builtin_ctz(q->align) : 0) << SAID_BITS);
    }
    m->n_word += (sig->n_param + 3) / 4;
    for (uint32_t i = 0; i < sig->n_check; i++) {
        put_address(m, sig->check[i].text), put_address(m, sig->check[i].file);
        put_word(m, sig->check[i].line);
    }
    for (uint32_t i = 0; i < sig->n_claim; i++) {
        const sett__claim *k = &sig->claim[i];
        put_address(m, k->text), put_address(m, k->file), put_address(m, k->types);
        put_word(m, k->line), put_word(m, k->op);
    }
}

/* A code is a word or three, and each expression has its length before it; a divisor is one. */
static size_t most_words(const sett__sig *sig, size_t dims)
{
    size_t n = dims + sig->n_sym + 3 + sig->n_param / 4 + 1 + 5 * (size_t)sig->n_check + 8 * (size_t)sig->n_claim;
    const sett__expr *const of[3] = {sig->grid, sig->block, sig->cluster};
    for (int i = 0; i < 9; i++)
        n += 3 * of[i / 3][i % 3].count;
    for (uint32_t i = 0; i < sig->n_leaf; i++)
        n += 3 * ((size_t)sig->leaf[i].extent.count + sig->leaf[i].stride.count) + 2;
    for (uint32_t i = 0; i < sig->n_check; i++)
        n += 3 * (size_t)sig->check[i].expr.count + 1;
    for (uint32_t i = 0; i < sig->n_sym; i++)
        n += 3 * (size_t)sig->sym[i].value.count + 1;
    return n + 3 * (size_t)sig->smem_more.count;
}

const sett__plan *sett__plan_make(sett__arena *a, const sett__sig *sig)
{
    const size_t args = sig->n_param * sizeof(arg_plan), syms = sig->n_sym * sizeof(sym_plan), modes = sig->n_leaf * sizeof(mode_plan);
    const sett__expr *const of[3] = {sig->grid, sig->block, sig->cluster};
    size_t dims = sig->smem_more.count ? sizeof(dim_plan) : 0;
    int64_t v;
    for (int i = 0; i < 9; i++)
        dims += of[i / 3][i % 3].count && !sett__expr_const(sig, of[i / 3][i % 3], &v) ? sizeof(dim_plan) : 0;
    const size_t dim = sizeof(sett__plan) + args + syms, mode = dim + dims, word = mode + modes;
    sett__plan *p = sett__arena_alloc(a, word + most_words(sig, dims / sizeof(dim_plan)) * sizeof(uint32_t));
    if (!p)
        return NULL;
    char *at = (char *)p;
    maker m = {.p = p, .sig = sig, .arg = (void *)(p + 1), .sym = (void *)(at + sizeof *p + args), .dim = (void *)(at + dim),
        .mode = (void *)(at + mode), .word = (void *)(at + word)};
    p->n_arg = (uint16_t)sig->n_param;
    p->n_sym = (uint16_t)(sig->n_sym - sig->n_derived);
    p->dim = (uint16_t)dim, p->mode = (uint16_t)mode, p->word = (uint16_t)word;
    bool ok = word <= UINT16_MAX && sig->n_check <= WORDS && sig->n_claim <= WORDS && plan_arguments(&m) && plan_dims(&m);
    if (ok)
        plan_rest(&m);
    ok = ok && m.n_word <= WORDS;
    p->n_word = (uint16_t)m.n_word;
    return ok ? p : NULL;
}

/* ---- following it ---------------------------------------------------------------------------- */
typedef struct state {
    const sett__plan *p;
    const sett_bind *arg;
    sett__bound *out;
    int64_t sym[SETT__MAX_ARGS], scalar[SETT__MAX_ARGS];
} state;

/* Of a number or an expression in the words. */
static inline bool expr(const state *st, const uint32_t *word, int64_t *v)
{
    return sett__packed_eval(word + 1, *word, st->sym, st->scalar, v);
}

static bool take_scalar(state *st, uint32_t i)
{
    const sett_bind *b = &st->arg[i];
    const arg_plan *a = args_of(st->p) + i;
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
    for (const arg_plan *a = args_of(st->p), *end = a + st->p->n_arg; a < end; a++, b++) {
        const sett_buf *t = b->u.t;
        if (a->scalar ? !take_scalar(st, (uint32_t)(a - args_of(st->p)))
                      : b->kind != SETT_BIND_BUF || !t || (int)t->dtype != a->dtype || t->rank != a->rank)
            return false;
    }
    return true;
}

static inline int64_t number_at(const sett_buf *t, uint8_t offset)
{
    int64_t v;
    memcpy(&v, (const char *)t + offset, sizeof v);
    return v;
}

static inline void put_symbol(unsigned char *params, const sym_plan *s, int64_t v)
{
    const int32_t low = (int32_t)v;
    if (s->bits & 32)
        memcpy(params + s->at, &v, sizeof v);
    else
        memcpy(params + s->at, &low, sizeof low);
}

/* given: entries behind the parameters; one that buffers give too must say the same. */
static inline bool take_symbols(state *st, uint32_t given)
{
    unsigned char *params = st->out->params;
    const sym_plan *s = syms_of(st->p);
    for (uint32_t i = 0, n = st->p->n_sym; i < n; i++, s++) {
        const sett_bind *b = &st->arg[st->p->n_arg + i];
        int kind = i < given ? b->kind : 0;
        int64_t v = s->arg == GIVEN ? (kind == SETT_BIND_INT ? b->u.i : -1) : number_at(st->arg[s->arg].u.t, s->from);
        if ((kind && (kind != SETT_BIND_INT || b->u.i != v)) || (uint64_t)v >> (s->bits & 63) ||
            (s->bits & ODD ? v % words_of(st->p)[s->div] : v & s->div) ||
            (s->extent && number_at(st->arg[s->arg].u.t, s->extent) <= 1))
            return false;
        st->sym[i] = v;
        put_symbol(params, s, v);
    }
    return true;
}

/* Of an extent or stride that is no symbol and no number. */
static __attribute__((noinline)) bool is_expr(const state *st, size_t want, int64_t v)
{
    int64_t w;
    return expr(st, words_of(st->p) + (want - EXPR), &w) && w == v;
}

static inline bool is(const state *st, size_t want, int64_t v)
{
    int64_t w = (int64_t)want;
    if (want >= EXPR)
        return is_expr(st, want, v);
    if (want >= SYM)
        w = want < WORD ? st->sym[want - SYM] : (int32_t)words_of(st->p)[want - WORD];
    return w == v;
}

/* Extents, strides, alignment, how far it reaches. A buffer without elements is bind.c's. */
static inline bool check_buffer(const state *st, const arg_plan *a, const mode_plan *m, const sett_buf *t)
{
    int64_t lo = 0, hi = 0, far;
    if (!t->data || (uintptr_t)t->data & a->low)
        return false;
    for (size_t i = 0, rank = a->rank; i < rank; i++) {
        const int64_t extent = t->shape[i];
        if (extent < 1 || !is(st, m[i].extent, extent))
            return false;
        if (extent == 1)
            continue;
        const int64_t stride = t->stride[i];
        if (!is(st, m[i].stride, stride) || __builtin_mul_overflow(extent - 1, stride, &far) ||
            ((uint64_t)far + (UINT64_C(1) << REACH)) >> (REACH + 1))
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
    const mode_plan *m = modes_of(st->p);
    const sett_bind *b = st->arg;
    for (const arg_plan *a = args_of(st->p), *end = a + st->p->n_arg; a < end; a++, b++) {
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
    const dim_plan *d = dims_of(st->p);
    for (uint32_t i = st->p->n_dim; i; i--, d++) {
        int64_t v, least = 1;
        if (d->form >= DIM_EXPR) {
            if (!expr(st, words_of(st->p) + d->sym, &v))
                return false;
            least = d->form != DIM_SMEM;
        } else {
            v = st->sym[d->sym];
            if (d->form == DIM_CEIL)
                v = (uint64_t)v >> 32 ? v / d->by + (v % d->by != 0) : (int64_t)(((uint64_t)v + d->by - 1) / d->by);
        }
        if (v < least || v > d->most)
            return false;
        dims[d->slot] += (uint32_t)v;
    }
    const uint32_t *b = st->out->dims.block;
    return !st->p->free_block || (uint64_t)b[0] * b[1] * b[2] <= SETT__BLOCK_THREADS;
}

/* What the body relies on, and what the launch computes for it. */
static inline bool eval_rest(state *st)
{
    const sett__plan *p = st->p;
    const uint32_t *word = words_of(p) + p->rest;
    const sym_plan *s = syms_of(p) + p->n_sym;
    int64_t v;
    for (uint32_t i = p->n_check; i; i--, word += 1 + *word)
        if (!expr(st, word, &v) || v)
            return false;
    for (uint32_t i = p->n_derived; i; i--, word += 1 + *word) {
        if (!expr(st, word, &v) || v < 0 || v > INT32_MAX)
            return false;
        put_symbol(st->out->params, s++, v);
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

/* ---- back to a signature ------------------------------------------------------------------------ */
typedef struct back {
    const sett__plan *p;
    sett__sig *s; /* n_code and n_leaf count what is there */
} back;

static sett__expr code(back *b, sett__xcode x, int64_t imm)
{
    b->s->code[b->s->n_code] = (sett__xop){(uint8_t)x, imm};
    return (sett__expr){b->s->n_code++, 1};
}

/* Of the expression at this word. */
static sett__expr codes(back *b, const uint32_t *word)
{
    sett__expr e = {b->s->n_code, 0};
    e.count = sett__expr_unpack(word + 1, *word, b->s->code + e.first);
    b->s->n_code += e.count;
    return e;
}

static sett__expr wanted(back *b, uint16_t want)
{
    return want < SYM    ? code(b, SETT__X_CONST, want)
           : want < WORD ? code(b, SETT__X_SYM, want - SYM)
           : want < EXPR ? code(b, SETT__X_CONST, (int32_t)words_of(b->p)[want - WORD])
                         : codes(b, words_of(b->p) + (want - EXPR));
}

static void back_symbols(back *b, const uint32_t **word)
{
    const sym_plan *y = syms_of(b->p);
    for (uint32_t i = 0; i < b->s->n_sym; i++, y++) {
        sett__symbol *to = &b->s->sym[i];
        to->div = y->bits & ODD ? words_of(b->p)[y->div] : (int64_t)y->div + 1;
        to->wide = y->bits >> 5 & 1;
        if (i >= b->p->n_sym)
            to->value = codes(b, *word), *word += 1 + **word;
    }
}

static void back_params(back *b, const uint8_t *said)
{
    const mode_plan *m = modes_of(b->p);
    for (uint32_t i = 0; i < b->s->n_param; i++) {
        const arg_plan *a = args_of(b->p) + i;
        b->s->param[i] = (sett__param){.dtype = a->dtype, .rank = a->rank, .wide = !a->scalar && a->bits == REACH,
            .access = said[i] & 3, .restricted = said[i] >> 2 & 1, .align = UINT32_C(1) << (said[i] >> SAID_BITS), .leaf = b->s->n_leaf,
            .n_leaf = a->scalar ? 0 : a->rank, .scalar = a->scalar == BY_STRUCT ? SETT__BY_STRUCT : a->scalar ? SETT__BY_NUMBER : 0};
        if (a->scalar == BY_STRUCT)
            b->s->param[i].dtype = SETT_U8, b->s->param[i].bytes = a->low;
        for (uint32_t j = 0; j < b->s->param[i].n_leaf; j++, m++) {
            sett__expr extent = wanted(b, m->extent), stride = wanted(b, m->stride);
            b->s->leaf[b->s->n_leaf++] = (sett__leaf){(uint8_t)j, extent, stride};
        }
    }
}

/* As is_ceil() takes it. */
static sett__expr back_ceil(back *b, const dim_plan *d)
{
    const sett__expr e = {b->s->n_code, SETT__COUNT(ceil_form)};
    for (size_t i = 0; i < SETT__COUNT(ceil_form); i++)
        code(b, ceil_form[i], ceil_form[i] == SETT__X_SYM ? d->sym : ceil_form[i] != SETT__X_CONST ? 0 : i == 3 ? 1 : d->by);
    return e;
}

static void back_dims(back *b)
{
    sett__sig *s = b->s;
    sett__expr *const of[] = {s->grid, s->block, s->cluster};
    const dim_plan *d = dims_of(b->p), *end = d + b->p->n_dim;
    for (uint32_t slot = 0; slot <= SMEM; slot++) {
        sett__expr *to = slot == SMEM ? &s->smem_more : &of[slot / 3][slot % 3];
        uint32_t v = slot == SMEM ? 1 : ((const uint32_t *)(const void *)&b->p->dims)[slot];
        if (d < end && d->slot == slot) {
            *to = d->form == DIM_SYM ? code(b, SETT__X_SYM, d->sym) : d->form == DIM_CEIL ? back_ceil(b, d) : codes(b, words_of(b->p) + d->sym);
            d++;
        } else if (v != 1) {
            *to = code(b, SETT__X_CONST, v);
        }
    }
}

static const void *address(const uint32_t *word)
{
    return (const void *)(uintptr_t)(word[0] | (uint64_t)word[1] << 32);
}

static void back_texts(sett__sig *s, const uint32_t *word)
{
    for (uint32_t i = 0; i < s->n_check; i++, word += 5)
        s->check[i].text = address(word), s->check[i].file = address(word + 2), s->check[i].line = word[4];
    for (uint32_t i = 0; i < s->n_claim; i++, word += 8)
        s->claim[i] = (sett__claim){address(word), address(word + 2), address(word + 4), word[6], word[7]};
}

static void *part(char **at, size_t n, size_t size)
{
    void *of = n ? *at : NULL;
    *at += n * size;
    return of;
}
static_assert(alignof(sett__leaf) <= 8 && (sizeof(sett__sig) | sizeof(sett__symbol) | sizeof(sett__param) | sizeof(sett__xop) |
                  sizeof(sett__check) | sizeof(sett__claim)) % 8 == 0, "no gaps between them");

/* Expressions and what is behind them first, as they say how much there is. */
sett__sig *sett__plan_sig(const sett__plan *p)
{
    const uint32_t *word = words_of(p) + p->rest, *checks = word;
    for (uint32_t i = p->n_check + (uint32_t)p->n_derived; i; i--)
        word += 1 + *word;
    sett__sig s = {.n_param = p->n_arg, .n_sym = (uint32_t)p->n_sym + p->n_derived, .n_derived = p->n_derived, .n_check = p->n_check,
        .n_claim = word[2], .smem = word[0], .smem_align = word[1] >> 1, .early = word[1] & 1};
    const size_t leaves = (p->word - (size_t)p->mode) / sizeof(mode_plan);
    const size_t codes_most = 2 * leaves + p->n_word + p->n_dim * SETT__COUNT(ceil_form) + SMEM;
    char *at = calloc(1, sizeof s + s.n_sym * sizeof *s.sym + s.n_param * sizeof *s.param + codes_most * sizeof *s.code +
                             s.n_check * sizeof *s.check + s.n_claim * sizeof *s.claim + leaves * sizeof *s.leaf);
    sett__sig *to = (void *)at;
    if (!to)
        return NULL;
    at += sizeof s;
    s.sym = part(&at, s.n_sym, sizeof *s.sym);
    s.param = part(&at, s.n_param, sizeof *s.param);
    s.code = part(&at, codes_most, sizeof *s.code);
    s.check = part(&at, s.n_check, sizeof *s.check);
    s.claim = part(&at, s.n_claim, sizeof *s.claim);
    s.leaf = part(&at, leaves, sizeof *s.leaf); /* the last: of half words */
    back b = {p, &s};
    for (uint32_t i = 0; i < s.n_check; i++, checks += 1 + *checks)
        s.check[i].expr = codes(&b, checks);
    back_symbols(&b, &checks);
    back_params(&b, (const uint8_t *)(word + 3));
    back_dims(&b);
    back_texts(&s, word + 3 + (s.n_param + 3) / 4);
    *to = s;
    return to;
}
