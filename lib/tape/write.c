/* SPDX-License-Identifier: Apache-2.0 */
/* A tape to its bytes (bytes.h). */
#include "bytes.h"
#include <string.h>

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
    uint32_t options = 0;
#define PARAM_OPTION(name, bit, first, second) options |= (uint32_t)p->name << bit;
#include "sig.def"
    put(w, options);
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
    for (uint32_t i = 0; i < s->n_map; i++)
        for (int k = 0; k < s->map[i].rank; k++) {
#define MAP_MODE_EXPR(name, word, from) *n_code += s->map[i].name[k].count;
#include "map.def"
        }
    *n_code += s->smem_more.count;
    for (int d = 0; d < 3; d++)
        *n_code += (uint64_t)s->grid[d].count + s->block[d].count + s->cluster[d].count;
}

static void put_map(struct writer *w, const sett__sig *s, const sett__map *m)
{
    put_string(w, m->name);
    uint32_t options = 0;
#define MAP_NUMBER(type, name, most) put(w, m->name);
#define MAP_OPTION(name, word, bit, most, first) options |= (uint32_t)m->name << bit;
#include "map.def"
    put(w, options);
    for (int k = 0; k < m->rank; k++) {
#define MAP_MODE(type, name, least, most_of_0, most, usual) put(w, m->name[k]);
#define MAP_MODE_EXPR(name, word, from) \
    if (k >= from) \
        put_expr(w, s, m->name[k]);
#include "map.def"
    }
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
    bool hints = s->cooperative | s->big_cluster | s->max_registers | s->min_blocks;
    put(w, s->smem_align | (s->smem_more.count ? SMEM_MORE : 0u) | (s->early ? EARLY : 0u) | (hints ? HINTS : 0u) | (s->n_map ? MAPS : 0u));
    if (s->smem_more.count)
        put_expr(w, s, s->smem_more);
    if (hints) {
        put(w, (s->cooperative ? L_COOPERATIVE : 0u) | (s->big_cluster ? L_BIG_CLUSTER : 0u));
        put(w, s->max_registers);
        put(w, s->min_blocks);
    }
    if (s->n_map)
        put(w, s->n_map);
    for (uint32_t i = 0; i < s->n_map; i++)
        put_map(w, s, &s->map[i]);
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
    if (!sett__words_there(t, op))
        return false;
    if (!room(w, 64 + 5 * ((size_t)op->n_args + op->n_attrs)))
        return true;
    uint8_t *at = w->at;
    *at++ = op->code;
    *at++ = op->dtype;
    *at++ = (uint8_t)((op->sub ? HAS_SUB : 0u) | (op->n_attrs ? HAS_ATTRS : 0u) | (imm ? HAS_IMM : 0u) |
                      (op->n != usual ? HAS_N : 0u) | few << ARGS_SHIFT);
    if (op->sub)
        *at++ = op->sub;
    if (op->n_attrs)
        *at++ = op->n_attrs;
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
    for (uint32_t k = 0; k < op->n_attrs; k++)
        at = leb(at, zigzag((int32_t)t->arg[op->args + op->n_args + k]));
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
        n_arg += (uint64_t)op->n_args + op->n_attrs;
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
    put_bytes(w, SETT__MAGIC, SETT__MAGIC_LEN);
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

static void put_whole_sig(struct writer *w, const sett__sig *s, bool places)
{
    put(w, SETT__TAPE_VERSION);
    put_sig(w, s);
    if (s->n_check)
        put_checks(w, s, places);
}

sett_status sett__sig_write(const sett__sig *s, const sett__allocator *mem, void **bytes, size_t *len, sett_error *err)
{
    struct writer w = {.mem = mem};
    *bytes = NULL, *len = 0;
    sett_status status = sett__sig_verify(s, err);
    if (status)
        return status;
    put_whole_sig(&w, s, true);
    return finish(&w, SETT_OK, bytes, len, err);
}

static void *no_more(void *user, size_t bytes)
{
    (void)user, (void)bytes;
    return NULL;
}

size_t sett__sig_bytes(const sett__sig *s, bool places, void *to, size_t room)
{
    static const sett__allocator none = {.alloc = no_more};
    struct writer w = {&none, to, to, (uint8_t *)to + room, false};
    put_whole_sig(&w, s, places);
    return w.failed ? 0 : (size_t)(w.at - w.base);
}
