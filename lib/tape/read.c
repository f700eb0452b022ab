/* SPDX-License-Identifier: Apache-2.0 */
/* A tape of its bytes (bytes.h), which others may have written: whatever they hold, it ends in a sound tape or an error. */
#include "bytes.h"
#include <string.h>

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

static int64_t unzigzag(uint64_t x)
{
    return (int64_t)(x >> 1 ^ (0 - (x & 1)));
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
    void *p = item > 1 ? sett__arena_alloc(r->arena, n * item) : sett__arena_chars(r->arena, n);
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
#define PARAM_OPTION(name, bit, first, second) p->name = bits >> bit & P_BITS(second);
#include "sig.def"
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

static void get_hints(struct reader *r, sett__sig *s)
{
    uint64_t bits = get_max(r, L_COOPERATIVE | L_BIG_CLUSTER);
    s->cooperative = bits & L_COOPERATIVE;
    s->big_cluster = (bits & L_BIG_CLUSTER) != 0;
    s->max_registers = (uint16_t)get_max(r, UINT16_MAX);
    s->min_blocks = (uint16_t)get_max(r, UINT16_MAX);
    if (!bits && !s->max_registers && !s->min_blocks)
        fail(r, "a zero is spelled out");
}

static void get_map(struct reader *r, sett__sig *s, sett__map *m, uint32_t *code)
{
    m->name = get_string(r);
#define MAP_NUMBER(type, name, most) m->name = (type)get_max(r, most);
#include "map.def"
    const uint64_t options = get_max(r, M_ALL);
#define MAP_OPTION(name, word, bit, most, first) m->name = options >> bit & M_BITS(most);
#include "map.def"
    for (int k = 0; k < m->rank && !r->bad; k++) {
#define MAP_MODE(type, name, least, most_of_0, most, usual) m->name[k] = (type)get_max(r, (type)-1);
#define MAP_MODE_EXPR(name, word, from) \
    if (k >= from) \
        m->name[k] = get_expr(r, s, code);
#include "map.def"
    }
}

static void get_maps(struct reader *r, sett__sig *s, uint32_t *code)
{
    uint32_t n = get_count(r, SETT__MAX_MAPS, 4);
    s->map = get_array(r, n, sizeof *s->map);
    if (!n)
        fail(r, "a zero is spelled out");
    for (; s->n_map < n && !r->bad; s->n_map++)
        get_map(r, s, &s->map[s->n_map], code);
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
    s->early = align & EARLY, s->smem_align = align & ~(uint32_t)(SMEM_MORE | EARLY | HINTS | MAPS);
    if (align & SMEM_MORE && !(s->smem_more = get_expr(r, s, &code)).count)
        fail(r, "the size of shared memory is empty");
    if (align & HINTS)
        get_hints(r, s);
    if (align & MAPS)
        get_maps(r, s, &code);
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

static uint32_t get_word(struct reader *r)
{
    int64_t x = unzigzag(get(r));
    if (x != (int32_t)x)
        fail(r, "a number is out of range");
    return (uint32_t)x;
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
    op->n_attrs = get_set_byte(r, mask & HAS_ATTRS);
    op->imm = mask & HAS_IMM ? unzigzag(get(r)) : 0;
    uint32_t usual = op->dtype ? 1 : 0;
    op->n = mask & HAS_N ? (uint32_t)get_max(r, UINT32_MAX) : usual;
    op->n_args = mask >> ARGS_SHIFT;
    if (op->n_args == ARGS_MANY)
        op->n_args = (uint16_t)get_max(r, UINT16_MAX);
    bool spelled = (mask & HAS_IMM && !op->imm) || (mask & HAS_N && op->n == usual) ||
                   (mask >> ARGS_SHIFT == ARGS_MANY && op->n_args < ARGS_MANY);
    if (spelled || op->code >= SETT__N_CODES || (uint32_t)op->n_args + op->n_attrs > t->n_arg - *args) {
        fail(r, "an op is malformed");
        return;
    }
    op->args = *args;
    op->site = SETT__NONE;
    for (uint32_t a = 0; a < op->n_args; a++) {
        uint32_t back = (uint32_t)get_max(r, i);
        t->arg[*args + a] = back ? i - back : SETT__NONE;
    }
    *args += op->n_args;
    for (uint32_t k = 0; k < op->n_attrs; k++)
        t->arg[(*args)++] = get_word(r);
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
    if ((size_t)(r->end - r->at) < SETT__MAGIC_LEN || memcmp(r->at, SETT__MAGIC, SETT__MAGIC_LEN)) {
        fail(r, "it does not begin as one");
        return;
    }
    r->at += SETT__MAGIC_LEN;
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
