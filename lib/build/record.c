/* SPDX-License-Identifier: Apache-2.0 */
/* Recording one op: fold it away, merge it with an equal one, or put it where it goes.
 *
 * Ops are numbered in order of recording and linked in order of execution: entry ops go
 * to the end of the entry block, scalar integer arithmetic to the outermost open region
 * that sees its operands, the rest to the tail. An operand's number is always below its
 * user's, whatever the links say. */
#include "build.h"
#include <string.h>

static bool grow_for(sett_build *b, void **data, uint32_t *cap, uint32_t need, size_t item)
{
    if (need <= *cap)
        return true;
    if (sett__grow(b->mem, data, cap, need, item))
        return true;
    sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return false;
}

/* ---- equal ops ---------------------------------------------------------------- */
static uint64_t mix_hash(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* PICK's imm says where its indices lie: what counts is the indices. */
static uint32_t hash_op(const sett_build *b, const sett__emit *x)
{
    bool pick = x->code == SETT__PICK;
    uint64_t h = mix_hash(x->code | (uint64_t)x->dtype << 8 | (uint64_t)x->sub << 16 | (uint64_t)x->n_attrs << 24 | (uint64_t)x->n << 32,
        pick ? 0 : (uint64_t)x->imm);
    for (uint32_t i = 0; pick && i < x->n; i++)
        h = mix_hash(h, b->index[x->imm + i]);
    int i = 0;
    for (; i + 1 < x->n_args; i += 2)
        h = mix_hash(h, x->args[i] | (uint64_t)x->args[i + 1] << 32);
    if (i < x->n_args)
        h = mix_hash(h, x->args[i]);
    for (i = 0; i < x->n_attrs; i++)
        h = mix_hash(h, (uint32_t)x->attrs[i]);
    return (uint32_t)(h >> 32);
}

static bool equal_op(const sett_build *b, const sett__op *op, const sett__emit *x)
{
    if (op->code != x->code || op->dtype != x->dtype || op->sub != x->sub || op->n_attrs != x->n_attrs || op->n != x->n ||
        op->n_args != x->n_args)
        return false;
    if (x->n_args && memcmp(b->arg + op->args, x->args, (size_t)x->n_args * sizeof *x->args))
        return false;
    if (x->n_attrs && memcmp(b->arg + op->args + x->n_args, x->attrs, x->n_attrs * sizeof *x->attrs))
        return false;
    if (x->code == SETT__PICK)
        return !memcmp(b->index + op->imm, b->index + x->imm, x->n * sizeof *b->index);
    return op->imm == x->imm;
}

static bool in_open_region(const sett_build *b, const sett__op *op)
{
    return !op->depth || (op->depth <= b->depth && b->region[op->depth - 1].serial == op->other);
}

/* An op's first places are the eight of one line: its newest operand's, since new ops use new values, or of a
 * constant its number's, since unrolled code counts. So the table is mostly in cache. A full line sends it to where
 * its hash says. Entries hold the hash, which spares a miss the look at other ops. */
enum { LINE = 8 };

static uint32_t home_of(sett__code code, int64_t imm, const uint32_t *args, int n_args, uint32_t hash)
{
    uint32_t newest = 0, number = (uint32_t)(imm ^ imm >> 32);
    for (int i = 0; i < n_args; i++)
        if (args[i] != SETT__NONE && args[i] > newest)
            newest = args[i];
    uint32_t at = newest ? newest * 2 : code == SETT__CONST ? number + (number >> 16) * LINE : hash;
    return at & ~(uint32_t)(LINE - 1);
}

static bool at_slot(const sett_build *b, uint64_t entry, uint32_t hash, const sett__emit *x)
{
    return !entry || (x && (uint32_t)(entry >> 32) == hash && equal_op(b, &b->op[(uint32_t)entry - 1], x));
}

/* The place of an op equal to x, else a free one; x NULL: a free one. */
static uint32_t cse_slot(const sett_build *b, const uint64_t *tab, uint32_t cap, uint32_t home, uint32_t hash, const sett__emit *x)
{
    uint32_t mask = cap - 1, at = home & mask;
    for (uint32_t i = 0; i < LINE; i++)
        if (at_slot(b, tab[at + i], hash, x))
            return at + i;
    /* By a step of the hash's own: constants one after the other fill long runs of the table, to whose end a step of 1 would walk. */
    for (at = hash & mask; !at_slot(b, tab[at], hash, x);)
        at = (at + (hash >> 8 | 1)) & mask;
    return at;
}

static bool grow_cse(sett_build *b)
{
    if (b->n_cse < b->cap_cse / 2)
        return true;
    uint32_t cap = b->cap_cse ? b->cap_cse * 2 : 256;
    uint64_t *fresh = sett__mem_zeroed(b->mem, cap * sizeof *fresh);
    SETT__FAIL_IF(b, (sett_site){0}, NULL, !fresh, false, SETT_E_MEMORY, "out of memory");
    for (uint32_t i = 0; i < b->cap_cse; i++) {
        if (!b->cse[i])
            continue;
        const sett__op *op = &b->op[(uint32_t)b->cse[i] - 1];
        uint32_t hash = (uint32_t)(b->cse[i] >> 32);
        uint32_t home = home_of((sett__code)op->code, op->imm, op->n_args ? b->arg + op->args : NULL, op->n_args, hash);
        fresh[cse_slot(b, fresh, cap, home, hash, NULL)] = b->cse[i];
    }
    sett__mem_free(b->mem, b->cse);
    b->cse = fresh;
    b->cap_cse = cap;
    return true;
}

/* ---- placing --------------------------------------------------------------------- */
static void link_after(sett_build *b, uint32_t at, uint32_t id)
{
    b->next[id] = b->next[at];
    b->next[at] = id;
}

static void place_entry(sett_build *b, uint32_t id)
{
    uint32_t at = b->entry_last;
    link_after(b, at, id);
    /* Who pointed at the end of the entry ops still points behind them. */
    if (!b->depth && b->tail == at)
        b->tail = id;
    else if (b->depth && b->region[0].last == at)
        b->region[0].last = id;
    if (b->ended_last == at)
        b->ended_last = id;
    b->entry_last = id;
}

static void place_at_depth(sett_build *b, uint32_t id, int depth)
{
    uint32_t *at = depth < b->depth ? &b->region[depth].last : &b->tail;
    link_after(b, *at, id);
    *at = id;
    b->op[id].depth = (uint16_t)depth;
    b->op[id].other = depth ? b->region[depth - 1].serial : 0;
}

/* The outermost open region that sees all operands. */
static int depth_of_args(const sett_build *b, const sett__emit *x)
{
    int depth = 0;
    for (int i = 0; i < x->n_args; i++)
        if (x->args[i] != SETT__NONE && b->op[x->args[i]].depth > depth)
            depth = b->op[x->args[i]].depth;
    return depth < b->depth ? depth : b->depth;
}

/* Of a pure op. */
static bool hoists(const sett__emit *x)
{
    return x->n == 1 && !x->stay && (x->dtype == SETT_BOOL || sett__dtype_is_int(x->dtype));
}

static uint32_t append_op(sett_build *b, const sett_site *site, const sett__emit *x, bool hoist)
{
    uint32_t id = b->n_op, n_args = (uint32_t)x->n_args;
    SETT__FAIL_IF(b, *site, NULL, id >= SETT__MAX_OPS || n_args > UINT16_MAX, 0, SETT_E_LIMIT,
        id >= SETT__MAX_OPS ? "a kernel may have %u operations" : "an operation may have %u operands",
        id >= SETT__MAX_OPS ? SETT__MAX_OPS : (unsigned)UINT16_MAX);
    if (!grow_for(b, (void **)&b->op, &b->cap_op, id + 1, sizeof *b->op) ||
        !grow_for(b, (void **)&b->next, &b->cap_next, id + 1, sizeof *b->next) ||
        !grow_for(b, (void **)&b->val_of, &b->cap_val_of, id + 1, sizeof *b->val_of) ||
        !grow_for(b, (void **)&b->arg, &b->cap_arg, b->n_arg + n_args + x->n_attrs, sizeof *b->arg))
        return 0;
    b->op[id] = (sett__op){.code = (uint8_t)x->code, .dtype = (uint8_t)x->dtype, .sub = x->sub, .n_attrs = x->n_attrs,
        .n = x->n, .args = b->n_arg, .n_args = (uint16_t)n_args, .site = x->at ? x->at - 1 : sett__site(b, *site), .imm = x->imm};
    if (b->error.status)
        return 0;
    for (uint32_t i = 0; i < n_args; i++)
        b->arg[b->n_arg + i] = x->args[i];
    b->n_arg += n_args;
    for (uint32_t i = 0; i < x->n_attrs; i++)
        b->arg[b->n_arg++] = (uint32_t)x->attrs[i];
    b->val_of[id] = NULL;
    b->next[id] = SETT__NONE;
    b->n_op++;
    if (!id)
        b->entry_last = b->tail = 0;
    else if (sett__ops[x->code].flags & SETT__E)
        place_entry(b, id);
    else
        place_at_depth(b, id, hoist && b->depth ? depth_of_args(b, x) : b->depth);
    return id;
}

/* A merged PICK leaves its indices unused: they go if they are the last ones. */
static void drop_indices(sett_build *b, const sett__emit *x)
{
    if (x->code == SETT__PICK && (uint64_t)x->imm + x->n == b->n_index)
        b->n_index = (uint32_t)x->imm;
}

/* Static, so that the product of the leaves fits: what made the shape has checked it. */
static uint32_t size_of(sett_arg a)
{
    if (a.kind == SETT_INT)
        return (uint32_t)a.u.i;
    uint32_t n = 1;
    for (int i = 0; a.kind == SETT_NODE && i < a.rank; i++)
        n *= size_of(a.u.kid[i]);
    return n;
}

/* All of it. */
static void init_val(sett_build *b, sett_val *v, uint32_t id, sett_arg shape, bool scalar, const sett__operands *o)
{
    *v = (sett_val){.head = sett__head_of(b, SETT__K_VAL), .id = id, .n = 1, .dtype = b->op[id].dtype, .scalar = scalar, .div = 1,
        .shape = {.kind = SETT_NODE}};
    if (!scalar) {
        v->n = size_of(shape);
        v->shape = sett_arg_keep(b, shape);
    }
    sett__settle(v);
    sett__facts(b, v, o);
}

static sett_val *room_for_val(sett_build *b)
{
    sett_val *v = sett__arena_room(&b->arena, sizeof *v);
    return v ? v : sett__new(b, sizeof *v); /* of the reserve, and the build has failed */
}

/* o: of its operands, where that is known. */
static uint32_t record_pure(sett_build *b, const sett_site *site, const sett__emit *x, const sett__operands *o)
{
    if (!grow_cse(b))
        return 0;
    uint32_t hash = hash_op(b, x), home = home_of(x->code, x->imm, x->args, x->n_args, hash);
    uint32_t slot = cse_slot(b, b->cse, b->cap_cse, home, hash, x), found = (uint32_t)b->cse[slot];
    if (found && in_open_region(b, &b->op[found - 1])) {
        drop_indices(b, x);
        return found - 1;
    }
    bool hoist = hoists(x);
    uint32_t id = append_op(b, site, x, hoist);
    if (b->error.status)
        return 0;
    b->n_cse += !found;
    b->cse[slot] = (uint64_t)hash << 32 | (id + 1); /* in place of one whose region was closed */
    if (hoist && x->code != SETT__CONST) { /* facts now: a chain of them would recurse later */
        sett_val *v = room_for_val(b);
        init_val(b, v, id, (sett_arg){.kind = SETT_NODE}, true, o);
        if (!b->error.status)
            b->val_of[id] = v;
    }
    return id;
}

bool sett__in_kernel(sett_build *b, sett_site site, const char *func)
{
    SETT__FAIL_IF(b, site, func, b && !b->in_kernel, false, SETT_E_ARGUMENT, "is possible only in a kernel's body, which sett_compile calls");
    return b != NULL;
}

/* The public name of what has an effect, where no caller of ours asked before. */
static const char *effect_name(sett__code code)
{
    return code == SETT__PRINTF ? "sett_printf" : code == SETT__ASSERT ? "sett_assert" : sett__opens(code) ? sett__opener(code) : sett__ops[code].text;
}

/* Nothing to fold: of numbers that are no integers only constants do. */
static bool nothing_to_fold(const sett_build *b, const sett__emit *x)
{
    sett__class cls = (sett__class)sett__ops[x->code].cls;
    if ((cls != SETT__C_BINARY && cls != SETT__C_TERNARY) || x->n != 1 || x->dtype == SETT_BOOL || sett__dtype_is_int(x->dtype))
        return false;
    return b->op[x->args[0]].code != SETT__CONST || b->op[x->args[1]].code != SETT__CONST;
}

const int32_t sett__nonneg[1] = {1};

uint32_t sett__record(sett_build *b, sett_site site, const sett__emit *e)
{
    if (b->error.status)
        return 0;
    sett__emit x;
    if (e->n_attrs) {
        x = *e, e = &x;
        while (x.n_attrs && x.attrs[x.n_attrs - 1] == SETT__ATTR_ROW(x.code, x.n_attrs - 1)->usual)
            x.n_attrs--;
    }
    uint16_t flags = sett__ops[e->code].flags;
    if (flags & SETT__W && !b->in_kernel && !sett__in_kernel(b, site, effect_name(e->code)))
        return 0;
    if (!(flags & SETT__P))
        return append_op(b, &site, e, false);
    if (e->n_args > 4 || !e->n_args || b->no_fold || nothing_to_fold(b, e))
        return record_pure(b, &site, e, NULL);
    uint32_t args[4];
    x = *e;
    sett__operands known;
    known.in[0] = known.in[1] = NULL;
    for (int i = 0; i < e->n_args; i++)
        args[i] = e->args[i];
    x.args = args;
    uint32_t id = sett__fold(b, site, &x, args, &known);
    if (id != SETT__NONE)
        return b->error.status ? 0 : id;
    return record_pure(b, &site, &x, &known);
}

/* idx NULL: the first element, n times. */
static uint32_t pick(sett_build *b, sett_site site, uint32_t from, const uint32_t *idx, uint32_t n)
{
    if (b->error.status || !grow_for(b, (void **)&b->index, &b->cap_index, b->n_index + n, sizeof *b->index))
        return 0;
    if (idx)
        memcpy(b->index + b->n_index, idx, n * sizeof *idx);
    else
        memset(b->index + b->n_index, 0, n * sizeof *idx);
    b->n_index += n;
    return sett__record(b, site,
        &(sett__emit){.code = SETT__PICK, .dtype = (sett_dtype)b->op[from].dtype, .n = n, .imm = b->n_index - n,
            .n_args = 1, .args = &from});
}

uint32_t sett__pick(sett_build *b, sett_site site, uint32_t from, const uint32_t *idx, uint32_t n)
{
    return pick(b, site, from, idx, n);
}

uint32_t sett__splat(sett_build *b, sett_site site, uint32_t scalar, uint32_t n)
{
    return n == 1 && !b->error.status ? scalar : pick(b, site, scalar, NULL, n);
}

/* ---- values of ops ------------------------------------------------------------------ */
bool sett__same_shape(sett_arg a, sett_arg c)
{
    if (a.kind != c.kind || a.rank != c.rank)
        return false;
    if (a.kind != SETT_NODE)
        return a.u.i == c.u.i && a.path == c.path;
    for (int i = 0; i < a.rank; i++)
        if (!sett__same_shape(a.u.kid[i], c.u.kid[i]))
            return false;
    return true;
}

/* Not where the op stands: whether a value may be used after a region must not depend on what moves out of it. */
bool sett__visible(const sett_val *v)
{
    const sett_build *b = v->head.b;
    return !v->depth || (v->depth <= b->depth && b->region[v->depth - 1].serial == v->serial);
}

void sett__settle(sett_val *v)
{
    const sett_build *b = v->head.b;
    v->depth = (uint16_t)b->depth;
    v->serial = b->depth ? b->region[b->depth - 1].serial : 0;
}

sett_val *sett__val(sett_build *b, uint32_t id, sett_arg shape, bool scalar)
{
    if (b->error.status)
        return &b->poison->val;
    sett_val *old = b->val_of[id];
    bool same = old && old->scalar == scalar && (scalar || sett__same_shape(old->shape, shape));
    if (same && sett__visible(old))
        return old;
    sett_val *v = room_for_val(b);
    if (same) { /* made in a region that has ended, and now here again: what was made there stays there */
        *v = *old;
        sett__settle(v);
        return b->error.status ? &b->poison->val : (b->val_of[id] = v);
    }
    init_val(b, v, id, shape, scalar, NULL);
    if (b->error.status)
        return &b->poison->val;
    if (!old)
        b->val_of[id] = v;
    return v;
}

sett_val *sett__scalar_val(sett_build *b, uint32_t id)
{
    sett_val *old = b->error.status ? NULL : b->val_of[id];
    return old && old->scalar && !old->depth ? old : sett__val(b, id, (sett_arg){.kind = SETT_NODE}, true);
}

static uint32_t record_const(sett_build *b, sett_site site, sett_dtype dtype, uint64_t bits)
{
    int width = dtype == SETT_BOOL ? 1 : sett_dtype_bits(dtype);
    if (sett__dtype_is_wide(dtype)) { /* a constant has up to 64 bits */
        uint32_t id = record_const(b, site, SETT_I64, bits);
        return sett__record(b, site, &(sett__emit){.code = SETT__CONVERT, .dtype = dtype, .n = 1, .n_args = 1, .args = &id});
    }
    if (width < 64)
        bits &= (UINT64_C(1) << width) - 1;
    return b->error.status ? 0 : record_pure(b, &site, &(sett__emit){.code = SETT__CONST, .dtype = dtype, .n = 1, .imm = (int64_t)bits}, NULL);
}

sett_val *sett__const_bits(sett_build *b, sett_site site, sett_dtype dtype, uint64_t bits)
{
    return sett__scalar_val(b, record_const(b, site, dtype, bits));
}

sett_val *sett__const_in(sett_build *b, sett_site site, sett_dtype dtype, uint64_t bits, sett_val *room)
{
    uint32_t id = record_const(b, site, dtype, bits);
    if (b->error.status)
        return &b->poison->val;
    sett__known k = {.div = 1};
    if (dtype == SETT_BOOL || sett__dtype_is_int(dtype))
        k = sett__know(b, id);
    *room = (sett_val){.head = sett__head_of(b, SETT__K_VAL), .id = id, .n = 1, .dtype = (uint8_t)dtype, .scalar = true, .uniform = true,
        .div = k.div, .lo = k.lo, .hi = k.hi, .shape = {.kind = SETT_NODE}};
    sett__settle(room);
    return room;
}

bool sett__val_const(const sett_val *v, uint64_t *bits)
{
    const sett_build *b = v->head.b;
    if (v->head.poison || b->no_fold || v->id >= b->n_op || b->op[v->id].code != SETT__CONST)
        return false;
    *bits = (uint64_t)b->op[v->id].imm;
    return true;
}
