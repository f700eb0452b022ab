/* SPDX-License-Identifier: Apache-2.0 */
/* sett_inline_ptx: one op an element, and its results taken apart. */
#include "tensor.h"
#include <string.h>

typedef struct inlined {
    sett__ctx c;
    sett_inline_ptx_args a;
    const sett_val *in[SETT__INLINE_OPERANDS];
    const sett_val *shaped; /* the first operand with more than one element: all such have its shape */
    int n_result;
    sett__emit op;
    int32_t attrs[3]; /* its */
} inlined;

enum { MOST_ELEMENTS = 4096 };

/* A C number is Int32, or Int64 where it does not fit; with a fraction Float32. */
static const sett_val *operand(const sett__ctx *c, sett_arg a)
{
    if (a.kind == SETT_FLOAT)
        return sett__const_bits(c->b, c->site, SETT_F32, sett__bits_of_float(SETT_F32, a.u.f));
    if (a.kind != SETT_VALUE)
        return sett__arg_val(c->b, (sett_site){c->site.file, c->func, c->site.line, c->site.call}, a);
    return sett__use_val(c->b, c->site, c->func, a.u.v) ? sett__materialise(c->site, a.u.v) : NULL;
}

static bool take_operands(inlined *x)
{
    const sett__ctx *c = &x->c;
    SETT__FAIL_IF(c->b, c->site, c->func, x->a.in.n < 0 || x->a.in.n > SETT__INLINE_OPERANDS || (x->a.in.n && !x->a.in.arg), false,
        SETT_E_LIMIT, "it has %d operands: at most %d", x->a.in.n, SETT__INLINE_OPERANDS);
    for (int i = 0; i < x->a.in.n; i++) {
        const sett_val *v = x->in[i] = operand(c, x->a.in.arg[i]);
        if (!v || c->b->error.status)
            return false;
        SETT__FAIL_IF(c->b, c->site, c->func, !sett__inline_takes(v->dtype), false, SETT_E_DTYPE,
            "operand %d is %s, which no register of PTX holds", i, sett_dtype_name((sett_dtype)v->dtype));
        if (v->n == 1)
            continue;
        SETT__FAIL_IF(c->b, c->site, c->func, x->shaped && !sett__same_elements(v->shape, x->shaped->shape), false, SETT_E_SHAPE,
            "operand %d has shape %s, another %s", i, sett__arg_text(c->b, v->shape), sett__arg_text(c->b, x->shaped->shape));
        x->shaped = x->shaped ? x->shaped : v;
    }
    SETT__FAIL_IF(c->b, c->site, c->func, x->shaped && x->shaped->n > MOST_ELEMENTS, false, SETT_E_LIMIT,
        "once an element is %u times: at most %d", x->shaped->n, MOST_ELEMENTS);
    return true;
}

/* "xor3 u32:lop3.b32 ..." */
static const char *tape_text(inlined *x)
{
    const sett__ctx *c = &x->c;
    char what[SETT__INLINE_WHAT];
    size_t room = strlen(x->a.text) + (x->a.stand_in ? strlen(x->a.stand_in) : 1) + 32 * SETT_INLINE_RESULTS + 8;
    SETT__FAIL_IF(c->b, c->site, c->func, room > SETT__MAX_STRING, NULL, SETT_E_LIMIT, "the PTX has %zu bytes: at most %d", strlen(x->a.text),
        SETT__MAX_STRING - 1024);
    const char *name = x->a.stand_in;
    SETT__FAIL_IF(c->b, c->site, c->func, name && (!*name || name[strspn(name, SETT__LETTERS SETT__DIGITS "_.")]), NULL, SETT_E_ARGUMENT,
        SETT__INLINE_NAME);
    char *s = sett__new(c->b, room);
    size_t at = (size_t)snprintf(s, room, "%s ", x->a.stand_in ? x->a.stand_in : "-");
    for (; x->n_result < SETT_INLINE_RESULTS && x->a.result[x->n_result]; x->n_result++) {
        at += (size_t)snprintf(s + at, room - at, "%s%s", x->n_result ? "," : "", sett_dtype_name(x->a.result[x->n_result]));
    }
    snprintf(s + at, room - at, ":%s", x->a.text);
    sett__inline parsed;
    bool good = sett__inline_read(s, (uint32_t)x->a.in.n, &parsed, what);
    SETT__FAIL_IF(c->b, c->site, c->func, !good, NULL, SETT_E_ARGUMENT, "%s", what);
    return c->b->error.status ? NULL : s;
}

/* Square brackets are how PTX writes an address; of a mere hint it is no matter when. */
static bool uses_memory(const sett_inline_ptx_args *a)
{
    return a->memory || (strchr(a->text, '[') && !(a->stand_in && !strcmp(a->stand_in, SETT_NOTHING)));
}

/* An assembler that meets the next instruction instead of a `;` blames that one's line. */
static bool ends(const char *text)
{
    size_t n = strlen(text);
    while (n && strchr(" \t\n", text[n - 1]))
        n--;
    return n && (text[n - 1] == ';' || text[n - 1] == '}');
}

static bool plan(inlined *x)
{
    const sett__ctx *c = &x->c;
    const char *text = tape_text(x);
    if (!text)
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, !ends(x->a.text), false, SETT_E_ARGUMENT, "the PTX ends in neither ; nor }");
    int isa = x->a.least_ptx, sm = x->a.least_sm;
    bool memory = uses_memory(&x->a), effect = x->a.is_volatile || memory || !x->n_result;
    bool known = isa >= 0 && sett__ptx_isa_known(isa) && sm >= 0 && sm <= UINT8_MAX;
    SETT__FAIL_IF(c->b, c->site, c->func, !known, false, SETT_E_ARGUMENT, ".least_ptx = %d, .least_sm = %d: as in 78 for PTX 7.8 and 90 for sm_90",
        isa, sm);
    SETT__FAIL_IF(c->b, c->site, c->func, x->n_result > 1 && !x->a.to, false, SETT_E_ARGUMENT, "of %d results .to is needed, an array for them",
        x->n_result);
    x->attrs[0] = sm, x->attrs[1] = isa, x->attrs[2] = memory;
    x->op = (sett__emit){.code = effect ? SETT__PTXV : SETT__PTX, .n_attrs = SETT__COUNT(x->attrs), .attrs = x->attrs,
        .dtype = x->n_result > 1 ? SETT_U64 : x->n_result ? x->a.result[0] : (sett_dtype)0, .n = (uint32_t)x->n_result,
        .imm = sett__intern(c->b, text), .n_args = x->a.in.n, .stay = true};
    return !c->b->error.status;
}

/* Result r of an op with several, whose bits are the low ones of an Uint64. */
static uint32_t result_of(const inlined *x, uint32_t op, uint32_t r)
{
    const sett__ctx *c = &x->c;
    static const sett_dtype carrier[] = {[1] = SETT_U8, [2] = SETT_U16, [4] = SETT_U32, [8] = SETT_U64};
    sett_dtype d = x->a.result[r];
    if (x->n_result == 1)
        return op;
    sett_val *v = sett__scalar_val(c->b, sett__pick(c->b, c->site, op, &r, 1));
    if (d == SETT_BOOL || sett__dtype_is_int(d))
        return sett__to(c->b, c->site, v, d)->id;
    v = sett__to(c->b, c->site, v, carrier[sett__dtype_bytes(d)]);
    return c->b->error.status ? 0 : sett_bitcast_at(c->site, v, d)->id;
}

static uint32_t record_one(const inlined *x, uint32_t element)
{
    uint32_t id[SETT__INLINE_OPERANDS];
    sett__emit op = x->op;
    for (int i = 0; i < x->a.in.n; i++)
        id[i] = x->in[i]->n == 1 ? x->in[i]->id : sett__pick(x->c.b, x->c.site, x->in[i]->id, &element, 1);
    op.args = id;
    return sett__record(x->c.b, x->c.site, &op);
}

/* ids: of result r's elements, one after another from r * n on. */
static sett_val *collect(const inlined *x, uint32_t r, const uint32_t *ids, uint32_t n)
{
    sett_build *b = x->c.b;
    if (!x->shaped)
        return sett__scalar_val(b, ids[r]);
    uint32_t id = sett__record(b, x->c.site,
        &(sett__emit){.code = SETT__PACK, .dtype = x->a.result[r], .n = n, .n_args = (int)n, .args = ids + (size_t)r * n});
    return sett__val(b, id, x->shaped->shape, false);
}

sett_val *sett_inline_ptx_at(sett_site site, sett_build *b, const sett_inline_ptx_args *given)
{
    b = sett__given(b, site, "sett_inline_ptx");
    inlined x = {.c = {b, site, "sett_inline_ptx"}};
    sett_val *poison = b ? &b->poison->val : NULL;
    if (!sett__take_args(&x.c, &x.a, sizeof x.a, given))
        return poison;
    for (int r = 0; x.a.to && r < SETT_INLINE_RESULTS && x.a.result[r]; r++)
        x.a.to[r] = poison; /* also where the build has failed before: the body goes on with them */
    if (!b || b->error.status || !sett__in_kernel(b, site, x.c.func))
        return poison;
    SETT__FAIL_IF(b, site, x.c.func, !x.a.text || !*x.a.text, poison, SETT_E_ARGUMENT, "there is no PTX");
    if (!take_operands(&x) || !plan(&x))
        return poison;
    uint32_t n = x.shaped ? x.shaped->n : 1;
    uint32_t *ids = sett__mem_alloc(b->mem, (size_t)n * SETT_INLINE_RESULTS * sizeof *ids);
    SETT__FAIL_IF(b, site, x.c.func, !ids, poison, SETT_E_MEMORY, "out of memory");
    for (uint32_t e = 0; e < n; e++) {
        uint32_t op = record_one(&x, e);
        for (int r = 0; r < x.n_result && !b->error.status; r++)
            ids[(uint32_t)r * n + e] = result_of(&x, op, (uint32_t)r);
    }
    sett_val *first = poison;
    for (int r = 0; r < x.n_result && !b->error.status; r++) {
        sett_val *v = collect(&x, (uint32_t)r, ids, n);
        first = r ? first : v;
        if (x.a.to)
            x.a.to[r] = v;
    }
    sett__mem_free(b->mem, ids);
    return first;
}

/* ---- addresses ------------------------------------------------------------------------------------- */
sett_val *sett__gmem_base(const sett__ctx *c, const sett_tensor *t)
{
    sett_build *b = c->b;
    const sett__op *root = &b->op[t->root];
    if (root->code == SETT__GMEM)
        return sett__scalar_val(b, b->arg[root->args]);
    return sett__scalar_val(b, sett__record(b, c->site, &(sett__emit){.code = SETT__ADDR, .dtype = SETT_U64, .n = 1, .imm = t->param}));
}

static sett_val *address(const sett__ctx *c, const sett_tensor *t, sett_arg coord)
{
    sett_arg at;
    sett_build *b = c->b;
    sett_val *poison = b ? &b->poison->val : NULL;
    if (!sett__use_tensor(b, c->site, c->func, t))
        return poison;
    SETT__FAIL_IF(b, c->site, c->func, t->space != SETT_GMEM || sett__is_packed(t), poison, SETT_E_SPACE,
        "%s: it is for gmem, and elements of whole bytes", sett__tensor_text(b, t));
    if (!sett__element_offset(c, t, coord, &at))
        return poison;
    sett_val *off = sett__to(b, c->site, sett__arg_val(b, c->site, at), SETT_I64);
    off = sett__op2(b, c->site, SETT__MUL, 0, off, sett__const_bits(b, c->site, SETT_I64, (uint64_t)sett__dtype_bytes((sett_dtype)t->dtype)));
    sett_val *base = sett__gmem_base(c, t);
    return b->error.status ? poison : sett__op2(b, c->site, SETT__ADD, 0, base, sett__to(b, c->site, off, SETT_U64));
}

sett_val *sett_address_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_address"};
    sett_val *v = address(&c, t, coord);
    if (c.b && !c.b->error.status && t->param >= 0)
        c.b->sig.param[t->param].access |= SETT__ACCESS_READ | SETT__ACCESS_WRITE;
    return v;
}

void sett_prefetch_at(sett_site site, const sett_tensor *t, sett_prefetch_level level, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_prefetch"};
    SETT__FAIL_IF(c.b, site, c.func, c.b && level != SETT_PREFETCH_L1 && level != SETT_PREFETCH_L2, , SETT_E_ARGUMENT, "%d is not a level", (int)level);
    const sett_arg at = sett_arg_v(address(&c, t, coord));
    const sett_inline_ptx_args how = {.size = sizeof how, .text = level == SETT_PREFETCH_L1 ? "prefetch.global.L1 [$0];" : "prefetch.global.L2 [$0];",
        .in = {1, &at}, .stand_in = SETT_NOTHING};
    if (c.b && !c.b->error.status)
        sett_inline_ptx_at(site, c.b, &how);
}
