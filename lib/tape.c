/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as bytes.
 *
 *     "sett" version flags signature
 *     strings ops                        formats in the order in which ops name them
 *     [strings sites]                    when flags has bit 0
 *     [checks]                           when flags has bit 1; with their places when it has bit 0
 *
 * All numbers are LEB128 in their shortest form, signed ones zigzag. Everything that a tape may hold
 * in more than one way (order and sharing of strings, expressions, pick lists) is written in the one
 * order in which it is used, so equal tapes give equal bytes. */
#include "lib.h"
#include <string.h>

const sett__op_info sett__ops[SETT__N_CODES] = {
#define OP(name, text, cls, types, flags, sm, ptx) {text, types, SETT__C_##cls, flags, sm, ptx},
#include "ops.def"
};

static const char magic[4] = {'s', 'e', 't', 't'};
enum { HAS_SUB = 1, HAS_FLAGS = 2, HAS_IMM = 4, HAS_N = 8, ARGS_SHIFT = 4, ARGS_MANY = 15 };
enum { S_WIDE = 1, S_DERIVED = 2 };
enum { P_SCALAR = 1, P_WIDE = 2, P_RESTRICTED = 4, P_ACCESS_SHIFT = 3, P_ALL = 31, P_STRUCT = P_SCALAR | P_WIDE };
enum { SMEM_MORE = 1 << 16, EARLY = 1 << 17 }; /* in the alignment of shared memory: an expression follows; the kernel begins early */
enum { SITE_NONE, SITE_SAME, SITE_NEW /* + file */, WITH_SITES = 1, WITH_CHECKS = 2 };

/* ---- writing ------------------------------------------------------------------- */
struct writer {
    const sett__allocator *mem;
    uint8_t *base, *at, *end;
    bool failed;
};

static bool more_room(struct writer *w, size_t bytes)
{
    if (w->failed)
        return false;
    size_t used = (size_t)(w->at - w->base), cap = 2 * used + bytes + 256;
    uint8_t *p = sett__mem_alloc(w->mem, cap);
    if (!p) {
        w->failed = true;
        return false;
    }
    if (used)
        memcpy(p, w->base, used);
    sett__mem_free(w->mem, w->base);
    w->base = p, w->at = p + used, w->end = p + cap;
    return true;
}

static inline bool room(struct writer *w, size_t bytes)
{
    return (size_t)(w->end - w->at) >= bytes || more_room(w, bytes);
}

static void put_bytes(struct writer *w, const void *p, size_t n)
{
    if (n && room(w, n)) {
        memcpy(w->at, p, n);
        w->at += n;
    }
}

static uint8_t *leb(uint8_t *at, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        *at++ = (uint8_t)(x | 128);
    *at++ = (uint8_t)x;
    return at;
}

static void put(struct writer *w, uint64_t x)
{
    if (room(w, 10))
        w->at = leb(w->at, x);
}

static uint64_t zigzag(int64_t x)
{
    return (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t x)
{
    return (int64_t)(x >> 1 ^ (0 - (x & 1)));
}

static void put_string(struct writer *w, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    put(w, n);
    put_bytes(w, s, n);
}

static void put_expr(struct writer *w, const sett__sig *sig, sett__expr e)
{
    put(w, e.count);
    for (uint32_t i = 0; i < e.count; i++) {
        const sett__xop *x = &sig->code[e.first + i];
        put(w, x->code);
        if (x->code == SETT__X_CONST)
            put(w, zigzag(x->imm));
        else if (x->code == SETT__X_SYM || x->code == SETT__X_SCALAR)
            put(w, (uint64_t)x->imm);
    }
}

static void put_param(struct writer *w, const sett__sig *sig, const sett__param *p)
{
    put_string(w, p->name);
    put(w, p->dtype);
    if (p->scalar) {
        put(w, p->bytes ? P_STRUCT : P_SCALAR);
        if (p->bytes)
            put(w, p->align), put(w, p->bytes);
        return;
    }
    put(w, (p->wide ? P_WIDE : 0u) | (p->restricted ? P_RESTRICTED : 0u) | (uint32_t)p->access << P_ACCESS_SHIFT);
    put(w, p->align);
    put(w, p->rank);
    put(w, p->n_leaf);
    for (uint32_t i = 0; i < p->n_leaf; i++) {
        const sett__leaf *l = &sig->leaf[p->leaf + i];
        put(w, l->mode);
        put_expr(w, sig, l->extent);
        put_expr(w, sig, l->stride);
    }
}

/* What the arrays of a reader will hold, which it checks against the bytes that are left. */
static void count_sig(const sett__sig *s, uint64_t *n_leaf, uint64_t *n_code)
{
    *n_leaf = *n_code = 0;
    for (uint32_t i = 0; i < s->n_sym; i++)
        *n_code += s->sym[i].value.count;
    for (uint32_t i = 0; i < s->n_param; i++) {
        const sett__param *p = &s->param[i];
        for (uint32_t j = 0; !p->scalar && j < p->n_leaf; j++)
            *n_code += (uint64_t)s->leaf[p->leaf + j].extent.count + s->leaf[p->leaf + j].stride.count;
        *n_leaf += p->scalar ? 0 : p->n_leaf;
    }
    *n_code += s->smem_more.count;
    for (int d = 0; d < 3; d++)
        *n_code += (uint64_t)s->grid[d].count + s->block[d].count + s->cluster[d].count;
}

static void put_sig(struct writer *w, const sett__sig *s)
{
    uint64_t n_leaf, n_code;
    count_sig(s, &n_leaf, &n_code);
    put(w, s->n_sym);
    put(w, s->n_param);
    put(w, n_leaf);
    put(w, n_code);
    for (uint32_t i = 0; i < s->n_sym; i++) {
        put_string(w, s->sym[i].name);
        put(w, (uint64_t)s->sym[i].div);
        put(w, (s->sym[i].wide ? S_WIDE : 0u) | (s->sym[i].value.count ? S_DERIVED : 0u));
        if (s->sym[i].value.count)
            put_expr(w, s, s->sym[i].value);
    }
    for (uint32_t i = 0; i < s->n_param; i++)
        put_param(w, s, &s->param[i]);
    const sett__expr *const dims[] = {s->grid, s->block, s->cluster};
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            put_expr(w, s, dims[k][d]);
    put(w, s->smem);
    put(w, s->smem_align | (s->smem_more.count ? SMEM_MORE : 0u) | (s->early ? EARLY : 0u));
    if (s->smem_more.count)
        put_expr(w, s, s->smem_more);
}

static void put_checks(struct writer *w, const sett__sig *s, bool places)
{
    uint64_t n_code = 0;
    for (uint32_t i = 0; i < s->n_check; i++)
        n_code += s->check[i].expr.count;
    put(w, s->n_check);
    put(w, n_code);
    for (uint32_t i = 0; i < s->n_check; i++) {
        const sett__check *k = &s->check[i];
        put_expr(w, s, k->expr);
        put_string(w, k->text);
        if (!places)
            continue;
        put_string(w, k->file ? k->file : "");
        put(w, k->line);
    }
}

/* Numbers strings in the order of their first use, equal ones once. */
struct names {
    const sett__tape *t;
    uint32_t *id, *order, *table; /* by string; its inverse; open addressing over order */
    uint32_t n, mask;
};

static bool names_init(struct names *s, const sett__tape *t, const sett__allocator *mem)
{
    uint32_t size = 16;
    while (size < 2 * (uint64_t)t->n_string)
        size *= 2;
    *s = (struct names){.t = t, .mask = size - 1};
    if (!t->n_string)
        return true;
    s->id = sett__mem_alloc(mem, (2 * (size_t)t->n_string + size) * sizeof *s->id);
    if (!s->id)
        return false;
    s->order = s->id + t->n_string, s->table = s->order + t->n_string;
    memset(s->id, 0xff, t->n_string * sizeof *s->id);
    memset(s->table, 0xff, size * sizeof *s->table);
    return true;
}

static uint32_t hash_of(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 15;
}

static uint32_t name_id(struct names *s, uint32_t string)
{
    if (s->id[string] != SETT__NONE)
        return s->id[string];
    const char *text = s->t->string[string];
    uint32_t slot = hash_of(text) & s->mask;
    for (; s->table[slot] != SETT__NONE; slot = (slot + 1) & s->mask)
        if (!strcmp(s->t->string[s->order[s->table[slot]]], text))
            return s->id[string] = s->table[slot];
    s->order[s->n] = string;
    s->table[slot] = s->n;
    return s->id[string] = s->n++;
}

static void put_names(struct writer *w, const struct names *s, uint32_t from)
{
    put(w, s->n - from);
    for (uint32_t i = from; i < s->n; i++)
        put_string(w, s->t->string[s->order[i]]);
}

/* False: an operand or index is out of range, which is all that is looked at here; the rest is the verifier's. */
static bool put_op(struct writer *w, const sett__tape *t, uint32_t i, struct names *names)
{
    const sett__op *op = &t->op[i];
    bool pick = op->code == SETT__PICK;
    int64_t imm = pick ? 0 : SETT__HAS_TEXT(op) ? name_id(names, (uint32_t)op->imm) : op->imm;
    uint32_t usual = op->dtype ? 1 : 0;
    uint32_t few = op->n_args < ARGS_MANY ? op->n_args : ARGS_MANY;
    if (op->n_args > t->n_arg || op->args > t->n_arg - op->n_args)
        return false;
    if (!room(w, 64 + 5 * (size_t)op->n_args))
        return true;
    uint8_t *at = w->at;
    *at++ = op->code;
    *at++ = op->dtype;
    *at++ = (uint8_t)((op->sub ? HAS_SUB : 0u) | (op->flags ? HAS_FLAGS : 0u) | (imm ? HAS_IMM : 0u) |
                      (op->n != usual ? HAS_N : 0u) | few << ARGS_SHIFT);
    if (op->sub)
        *at++ = op->sub;
    if (op->flags)
        *at++ = op->flags;
    if (imm)
        at = leb(at, zigzag(imm));
    if (op->n != usual)
        at = leb(at, op->n);
    if (few == ARGS_MANY)
        at = leb(at, op->n_args);
    for (uint32_t k = 0; k < op->n_args; k++) { /* of a tape without operands t->arg is NULL */
        const uint32_t arg = t->arg[op->args + k];
        if (arg >= i && arg != SETT__NONE)
            return false;
        at = leb(at, arg == SETT__NONE ? 0 : i - arg);
    }
    w->at = at;
    for (uint32_t k = 0, last = 0; pick && k < op->n; k++) {
        uint32_t index = t->index[(uint32_t)op->imm + k];
        put(w, zigzag((int64_t)index - last));
        last = index;
    }
    return true;
}

static const sett__site_ref *site_of(const sett__tape *t, const sett__op *op)
{
    const sett__site_ref *s = op->site < t->n_site ? &t->site[op->site] : NULL;
    return s && s->file < t->n_string && s->func < t->n_string ? s : NULL;
}

static void name_sites(const sett__tape *t, struct names *names)
{
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__site_ref *s = site_of(t, &t->op[i]);
        if (s) {
            name_id(names, s->file);
            name_id(names, s->func);
        }
    }
}

static void put_sites(struct writer *w, const sett__tape *t, struct names *names)
{
    sett__site_ref last = {SETT__NONE, SETT__NONE, 0};
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__site_ref *s = site_of(t, &t->op[i]);
        if (!s) {
            put(w, SITE_NONE);
            continue;
        }
        sett__site_ref now = {name_id(names, s->file), name_id(names, s->func), s->line};
        if (now.file == last.file && now.func == last.func && now.line == last.line) {
            put(w, SITE_SAME);
            continue;
        }
        put(w, SITE_NEW + (uint64_t)now.file);
        put(w, now.func);
        put(w, now.line);
        last = now;
    }
}

static sett_status no_op(uint32_t i, sett_error *err)
{
    return sett__error(err, SETT_E_VERIFY, "op %u cannot be written: an operand or index is out of range", i);
}

static sett_status put_tape(struct writer *w, const sett__tape *t, bool sites, struct names *names, sett_error *err)
{
    uint64_t n_arg = 0, n_index = 0;
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__op *op = &t->op[i];
        n_arg += op->n_args;
        if (op->code < SETT__PICK) /* most */
            continue;
        bool pick = op->code == SETT__PICK, text = op->code < SETT__N_CODES && SETT__HAS_TEXT(op);
        if (op->code >= SETT__N_CODES || ((pick || text) && op->imm < 0) || (text && op->imm >= t->n_string) ||
            (pick && (op->n > t->n_index || (uint64_t)op->imm > t->n_index - op->n)))
            return no_op(i, err);
        n_index += pick ? op->n : 0;
        if (text)
            name_id(names, (uint32_t)op->imm);
    }
    uint32_t formats = names->n;
    put_bytes(w, magic, sizeof magic);
    put(w, SETT__TAPE_VERSION);
    put(w, (sites ? WITH_SITES : 0u) | (t->sig.n_check ? WITH_CHECKS : 0u));
    put_sig(w, &t->sig);
    put_names(w, names, 0);
    put(w, t->n_op);
    put(w, n_arg);
    put(w, n_index);
    for (uint32_t i = 0; i < t->n_op; i++)
        if (!put_op(w, t, i, names))
            return no_op(i, err);
    if (sites) {
        name_sites(t, names);
        put_names(w, names, formats);
        put_sites(w, t, names);
    }
    if (t->sig.n_check)
        put_checks(w, &t->sig, sites);
    return SETT_OK;
}

static sett_status finish(struct writer *w, sett_status status, void **bytes, size_t *len, sett_error *err)
{
    if (!status && w->failed)
        status = sett__error(err, SETT_E_MEMORY, "out of memory while writing a tape");
    *bytes = NULL, *len = 0;
    if (status)
        sett__mem_free(w->mem, w->base);
    else
        *bytes = w->base, *len = (size_t)(w->at - w->base);
    return status;
}

sett_status sett__tape_write(const sett__tape *t, bool sites, const sett__allocator *mem, void **bytes, size_t *len,
    sett_error *err)
{
    struct writer w = {.mem = mem};
    struct names names;
    *bytes = NULL, *len = 0;
    sett_status status = sett__sig_verify(&t->sig, err);
    if (status)
        return status;
    if (t->n_op > SETT__MAX_OPS)
        return sett__error(err, SETT_E_LIMIT, "%u ops: a tape holds at most %u", t->n_op, SETT__MAX_OPS);
    if (!names_init(&names, t, mem))
        return sett__error(err, SETT_E_MEMORY, "out of memory while writing a tape");
    room(&w, 256 + 8 * (size_t)t->n_op);
    status = put_tape(&w, t, sites, &names, err);
    sett__mem_free(mem, names.id);
    return finish(&w, status, bytes, len, err);
}

sett_status sett__sig_write(const sett__sig *s, const sett__allocator *mem, void **bytes, size_t *len, sett_error *err)
{
    struct writer w = {.mem = mem};
    *bytes = NULL, *len = 0;
    sett_status status = sett__sig_verify(s, err);
    if (status)
        return status;
    put(&w, SETT__TAPE_VERSION);
    put_sig(&w, s);
    if (s->n_check)
        put_checks(&w, s, true);
    return finish(&w, SETT_OK, bytes, len, err);
}

/* ---- reading ------------------------------------------------------------------------ */
/* After the first bad byte every read gives 0 and nothing moves. */
struct reader {
    const uint8_t *base, *at, *end;
    sett__arena *arena;
    const char *bad; /* what was wrong first */
    const uint8_t *bad_at;
    bool memory;
};

static void fail(struct reader *r, const char *what)
{
    if (!r->bad)
        r->bad = what, r->bad_at = r->at;
    r->at = r->end;
}

static uint64_t get(struct reader *r)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (r->at == r->end) {
            fail(r, "it ends too early");
            return 0;
        }
        uint8_t c = *r->at++;
        if ((shift == 63 && c > 1) || (shift && !c))
            break;
        x |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return x;
    }
    fail(r, "a number is too long");
    return 0;
}

static uint8_t get_byte(struct reader *r)
{
    if (r->at < r->end)
        return *r->at++;
    fail(r, "it ends too early");
    return 0;
}

static uint64_t get_max(struct reader *r, uint64_t most)
{
    uint64_t x = get(r);
    if (x <= most)
        return x;
    fail(r, "a number is out of range");
    return 0;
}

/* How many items follow, each of which takes at least `least` bytes: what bounds every allocation
 * by a small multiple of the input's size. */
static uint32_t get_count(struct reader *r, uint32_t most, size_t least)
{
    uint64_t n = get_max(r, most);
    if (n <= (size_t)(r->end - r->at) / least)
        return (uint32_t)n;
    fail(r, "a count is larger than what follows");
    return 0;
}

static void *get_array(struct reader *r, size_t n, size_t item)
{
    if (!n)
        return NULL;
    void *p = sett__arena_alloc(r->arena, n * item);
    if (!p) {
        fail(r, "out of memory");
        r->memory = true;
    }
    return p;
}

static const char *get_string(struct reader *r)
{
    uint32_t n = get_count(r, SETT__MAX_STRING, 1);
    char *s = get_array(r, (size_t)n + 1, 1);
    if (!s || r->bad)
        return "";
    if (memchr(r->at, 0, n))
        fail(r, "a string holds a zero byte");
    else
        memcpy(s, r->at, n), r->at += n;
    return s;
}

static sett__expr get_expr(struct reader *r, sett__sig *s, uint32_t *used)
{
    sett__expr e = {*used, get_count(r, s->n_code - *used, 1)};
    for (uint32_t i = 0; i < e.count && !r->bad; i++) {
        sett__xop *x = &s->code[e.first + i];
        x->code = (uint8_t)get_max(r, SETT__N_XCODES - 1);
        if (x->code == SETT__X_CONST)
            x->imm = unzigzag(get(r));
        else if (x->code == SETT__X_SYM || x->code == SETT__X_SCALAR)
            x->imm = (int64_t)get_max(r, (x->code == SETT__X_SYM ? s->n_sym : s->n_param) - UINT64_C(1));
    }
    *used += e.count;
    return e;
}

static void get_param(struct reader *r, sett__sig *s, sett__param *p, uint32_t *leaves, uint32_t *code)
{
    p->name = get_string(r);
    p->dtype = (uint8_t)get_max(r, UINT8_MAX);
    uint32_t bits = (uint32_t)get_max(r, P_ALL);
    p->leaf = *leaves;
    p->scalar = bits == P_STRUCT ? SETT__BY_STRUCT : bits & P_SCALAR;
    if (bits == P_STRUCT) {
        p->align = (uint32_t)get_max(r, SETT__VALUE_ALIGN);
        p->bytes = (uint32_t)get_max(r, SETT__PARAM_BYTES);
        return;
    }
    if (p->scalar) {
        if (bits != P_SCALAR)
            fail(r, "a scalar has a tensor's attributes");
        p->align = (uint32_t)sett__dtype_bytes((sett_dtype)p->dtype);
        return;
    }
    p->wide = (bits & P_WIDE) != 0;
    p->restricted = (bits & P_RESTRICTED) != 0;
    p->access = (uint8_t)(bits >> P_ACCESS_SHIFT);
    p->align = (uint32_t)get_max(r, UINT32_MAX);
    p->rank = (uint8_t)get_max(r, SETT__MAX_RANK);
    p->n_leaf = get_count(r, s->n_leaf - *leaves, 3);
    *leaves += p->n_leaf;
    for (uint32_t i = 0; i < p->n_leaf && !r->bad; i++) {
        sett__leaf *l = &s->leaf[p->leaf + i];
        l->mode = (uint8_t)get_max(r, SETT__MAX_RANK - 1);
        l->extent = get_expr(r, s, code);
        l->stride = get_expr(r, s, code);
    }
}

static void get_sig(struct reader *r, sett__sig *s)
{
    uint32_t leaves = 0, code = 0;
    *s = (sett__sig){.n_sym = get_count(r, SETT__MAX_PARAMS, 3)};
    s->n_param = get_count(r, SETT__MAX_PARAMS, 3);
    s->n_leaf = get_count(r, UINT32_MAX, 3);
    s->n_code = get_count(r, UINT32_MAX, 1);
    s->sym = get_array(r, s->n_sym, sizeof *s->sym);
    s->param = get_array(r, s->n_param, sizeof *s->param);
    s->leaf = get_array(r, s->n_leaf, sizeof *s->leaf);
    s->code = get_array(r, s->n_code, sizeof *s->code);
    for (uint32_t i = 0; i < s->n_sym && !r->bad; i++) {
        s->sym[i].name = get_string(r);
        s->sym[i].div = (int64_t)get_max(r, INT64_MAX);
        uint64_t bits = get_max(r, S_WIDE | S_DERIVED);
        s->sym[i].wide = bits & S_WIDE;
        if (bits & S_DERIVED && !(s->sym[i].value = get_expr(r, s, &code)).count)
            fail(r, "a symbol's value is empty");
        s->n_derived += bits & S_DERIVED ? 1 : 0;
    }
    for (uint32_t i = 0; i < s->n_param && !r->bad; i++)
        get_param(r, s, &s->param[i], &leaves, &code);
    sett__expr *const dims[] = {s->grid, s->block, s->cluster};
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            dims[k][d] = get_expr(r, s, &code);
    s->smem = (uint32_t)get_max(r, UINT32_MAX);
    uint32_t align = (uint32_t)get_max(r, UINT32_MAX);
    s->early = align & EARLY, s->smem_align = align & ~(uint32_t)(SMEM_MORE | EARLY);
    if (align & SMEM_MORE && !(s->smem_more = get_expr(r, s, &code)).count)
        fail(r, "the size of shared memory is empty");
    if (leaves != s->n_leaf || code != s->n_code)
        fail(r, "a count does not fit what follows");
}

static void get_checks(struct reader *r, sett__sig *s, bool places)
{
    uint32_t n = get_count(r, SETT__MAX_CHECKS, 2), n_code = get_count(r, UINT32_MAX - s->n_code, 1), used = s->n_code;
    sett__xop *code = get_array(r, (size_t)used + n_code, sizeof *code);
    s->check = get_array(r, n, sizeof *s->check);
    if (!n || !n_code)
        fail(r, "a zero is spelled out");
    if (r->bad)
        return;
    if (used)
        memcpy(code, s->code, used * sizeof *code);
    s->code = code;
    s->n_code += n_code;
    for (; s->n_check < n && !r->bad; s->n_check++) {
        sett__check *k = &s->check[s->n_check];
        k->expr = get_expr(r, s, &used);
        k->text = get_string(r);
        k->file = places ? get_string(r) : "";
        k->file = *k->file ? k->file : NULL;
        k->line = places ? (uint32_t)get_max(r, UINT32_MAX) : 0;
        if (k->line && !k->file)
            fail(r, "a line is of no file");
    }
    if (used != s->n_code)
        fail(r, "a count does not fit what follows");
}

/* Adds strings behind those that the tape has. */
static void get_strings(struct reader *r, sett__tape *t)
{
    uint32_t n = get_count(r, SETT__MAX_OPS, 1);
    const char **all = get_array(r, (size_t)t->n_string + n, sizeof *all);
    if (!all)
        return;
    if (t->n_string)
        memcpy(all, t->string, t->n_string * sizeof *all);
    for (uint32_t i = 0; i < n && !r->bad; i++)
        all[t->n_string + i] = get_string(r);
    if (r->bad)
        return;
    t->string = all;
    t->n_string += n;
}

static void get_pick(struct reader *r, sett__tape *t, sett__op *op, uint32_t *indices)
{
    if (op->imm || op->n > t->n_index - *indices) {
        fail(r, "a count does not fit what follows");
        return;
    }
    op->imm = *indices;
    int64_t last = 0;
    for (uint32_t k = 0; k < op->n && !r->bad; k++) {
        int64_t step = unzigzag(get(r));
        if (step < -last || step > UINT32_MAX - last)
            fail(r, "an index is out of range");
        else
            t->index[*indices + k] = (uint32_t)(last += step);
    }
    *indices += op->n;
}

static uint8_t get_set_byte(struct reader *r, bool there)
{
    uint8_t c = there ? get_byte(r) : 1;
    if (!c)
        fail(r, "a zero is spelled out");
    return there ? c : 0;
}

static void get_op(struct reader *r, sett__tape *t, uint32_t i, uint32_t *args, uint32_t *indices)
{
    sett__op *op = &t->op[i];
    op->code = get_byte(r);
    op->dtype = get_byte(r);
    uint8_t mask = get_byte(r);
    op->sub = get_set_byte(r, mask & HAS_SUB);
    op->flags = get_set_byte(r, mask & HAS_FLAGS);
    op->imm = mask & HAS_IMM ? unzigzag(get(r)) : 0;
    uint32_t usual = op->dtype ? 1 : 0;
    op->n = mask & HAS_N ? (uint32_t)get_max(r, UINT32_MAX) : usual;
    op->n_args = mask >> ARGS_SHIFT;
    if (op->n_args == ARGS_MANY)
        op->n_args = (uint16_t)get_max(r, UINT16_MAX);
    bool spelled = (mask & HAS_IMM && !op->imm) || (mask & HAS_N && op->n == usual) ||
                   (mask >> ARGS_SHIFT == ARGS_MANY && op->n_args < ARGS_MANY);
    if (spelled || op->code >= SETT__N_CODES || op->n_args > t->n_arg - *args) {
        fail(r, "an op is malformed");
        return;
    }
    uint8_t cls = sett__ops[op->code].cls;
    if ((cls == SETT__C_LOAD || cls == SETT__C_STORE) && (op->sub > 31 || 1u << op->sub > SETT__MAX_ALIGN)) {
        fail(r, "an access claims more alignment than there is");
        return;
    }
    op->args = *args;
    op->site = SETT__NONE;
    for (uint32_t a = 0; a < op->n_args; a++) {
        uint32_t back = (uint32_t)get_max(r, i);
        t->arg[*args + a] = back ? i - back : SETT__NONE;
    }
    *args += op->n_args;
    if (op->code == SETT__PICK)
        get_pick(r, t, op, indices);
}

static void get_ops(struct reader *r, sett__tape *t)
{
    uint32_t args = 0, indices = 0;
    t->n_op = get_count(r, SETT__MAX_OPS, 3);
    t->n_arg = get_count(r, UINT32_MAX, 1);
    t->n_index = get_count(r, UINT32_MAX, 1);
    t->op = get_array(r, t->n_op, sizeof *t->op);
    t->arg = get_array(r, t->n_arg, sizeof *t->arg);
    t->index = get_array(r, t->n_index, sizeof *t->index);
    for (uint32_t i = 0; i < t->n_op && !r->bad; i++)
        get_op(r, t, i, &args, &indices);
    if (args != t->n_arg || indices != t->n_index)
        fail(r, "a count does not fit what follows");
}

static void get_sites(struct reader *r, sett__tape *t)
{
    t->site = get_array(r, t->n_op, sizeof *t->site);
    for (uint32_t i = 0; i < t->n_op && !r->bad; i++) {
        uint64_t tag = get_max(r, (uint64_t)SITE_NEW + t->n_string - 1);
        if (tag >= SITE_NEW) {
            sett__site_ref *s = &t->site[t->n_site++];
            s->file = (uint32_t)(tag - SITE_NEW);
            s->func = (uint32_t)get_max(r, t->n_string - UINT64_C(1));
            s->line = (uint32_t)get_max(r, UINT32_MAX);
        } else if (tag == SITE_SAME && !t->n_site) {
            fail(r, "there is no site to repeat");
        }
        t->op[i].site = tag == SITE_NONE || r->bad ? SETT__NONE : t->n_site - 1;
    }
}

static sett_status read_error(const struct reader *r, const char *what, sett_error *err)
{
    if (r->memory)
        return sett__error(err, SETT_E_MEMORY, "out of memory while reading a %s", what);
    return sett__error(err, SETT_E_PARSE, "byte %zu of a %s: %s", (size_t)(r->bad_at - r->base), what, r->bad);
}

static void get_head(struct reader *r, uint32_t *flags)
{
    if ((size_t)(r->end - r->at) < sizeof magic || memcmp(r->at, magic, sizeof magic)) {
        fail(r, "it does not begin as one");
        return;
    }
    r->at += sizeof magic;
    if (get(r) != SETT__TAPE_VERSION)
        fail(r, "it is of another version of sett");
    *flags = (uint32_t)get_max(r, WITH_SITES | WITH_CHECKS);
}

sett_status sett__tape_read_in(
    sett__tape *t, const sett__allocator *mem, const void *bytes, size_t len, sett_error *err)
{
    *t = (sett__tape){.arena = {.mem = mem}};
    struct reader r = {
        .base = bytes, .at = bytes, .end = len ? (const uint8_t *)bytes + len : bytes, .arena = &t->arena};
    uint32_t flags = 0;
    get_head(&r, &flags);
    get_sig(&r, &t->sig);
    get_strings(&r, t);
    get_ops(&r, t);
    if (flags & WITH_SITES) {
        get_strings(&r, t);
        get_sites(&r, t);
    }
    if (flags & WITH_CHECKS)
        get_checks(&r, &t->sig, flags & WITH_SITES);
    if (r.at != r.end)
        fail(&r, "something follows its end");
    sett_status status = SETT_OK;
    bool early = t->sig.early;
    if (r.bad)
        status = read_error(&r, "tape", err);
    else if (!sett__tape_link(t))
        status = sett__error(err, SETT_E_VERIFY, "the tape's regions do not nest");
    else if (early != t->sig.early)
        status = sett__error(err, SETT_E_PARSE, "the tape says that it %s griddepcontrol.wait", early ? "has" : "has no");
    else
        status = sett__tape_verify(t, NULL, err);
    if (!status && !sett__tape_claims(t))
        status = sett__error(err, SETT_E_MEMORY, "out of memory while reading a tape");
    if (status)
        sett__tape_free(t);
    return status;
}

sett_status sett__tape_read(sett__tape *t, const void *bytes, size_t len, sett_error *err)
{
    return sett__tape_read_in(t, NULL, bytes, len, err);
}

sett_status sett__sig_read(sett__sig *s, sett__arena *arena, const void *bytes, size_t len, sett_error *err)
{
    struct reader r = {.base = bytes, .at = bytes, .end = len ? (const uint8_t *)bytes + len : bytes, .arena = arena};
    if (get(&r) != SETT__TAPE_VERSION)
        fail(&r, "it is of another version of sett");
    get_sig(&r, s);
    if (!r.bad && r.at != r.end)
        get_checks(&r, s, true);
    if (r.at != r.end)
        fail(&r, "something follows its end");
    sett_status status = r.bad ? read_error(&r, "signature", err) : sett__sig_verify(s, err);
    if (status)
        *s = (sett__sig){0};
    return status;
}

void sett__tape_free(sett__tape *t)
{
    sett__arena_free(&t->arena);
    *t = (sett__tape){0};
}
