/* SPDX-License-Identifier: Apache-2.0 */
/* From a recorded build to a tape: what is live, in order of execution, renumbered. */
#include "build.h"
#include <stdlib.h>
#include <string.h>

typedef struct finish {
    sett_build *b;
    sett__tape *t;
    uint32_t *op, *string, *site; /* old index to new, SETT__NONE: dropped */
    uint32_t n_live;
    uint32_t n_arg, n_index;      /* of the live ops */
    bool texts;                   /* one of them names a text */
} finish;

/* Is that much, all shared memory is named, used or not: a target that has less says what it is of. */
static bool names_smem(const sett_build *b)
{
    return b->smem_used > sett__target_smem(0);
}

static bool always_kept(const sett__op *op)
{
    return sett__ops[op->code].flags & SETT__W;
}

#define EMPTY (SETT__NONE - 1)
#define LIVE (SETT__NONE - 2) /* not numbered yet */

typedef struct region {
    uint32_t op, other, test; /* its else; its while */
    bool acts, other_acts;
} region;

/* A region in which nothing has an effect goes, and an else of which that is true; what else was recorded there is
 * dead. An if without effects keeps its place when its else has some. */
static void empty_regions(finish *f)
{
    region open[SETT__MAX_DEPTH + 1] = {{.other = SETT__NONE, .test = SETT__NONE}}, *r = open; /* the first: what is outside of all */
    for (uint32_t i = 0; i != SETT__NONE; i = f->b->next[i]) {
        const sett__op *op = &f->b->op[i];
        sett__class cls = (sett__class)sett__ops[op->code].cls;
        bool acts = always_kept(op);
        if (cls == SETT__C_IF || cls == SETT__C_FOR || cls == SETT__C_LOOP) {
            *++r = (region){.op = i, .other = SETT__NONE, .test = SETT__NONE};
            continue;
        }
        if (cls == SETT__C_WHILE) {
            r->test = i;
            continue;
        }
        if (cls == SETT__C_ELSE) {
            r->other = i;
            continue;
        }
        if (cls == SETT__C_END) {
            acts = r->acts || r->other_acts;
            if (!acts)
                f->op[r->op] = f->op[i] = EMPTY;
            if (!acts && r->test != SETT__NONE)
                f->op[r->test] = EMPTY;
            if (r->other != SETT__NONE && !r->other_acts)
                f->op[r->other] = EMPTY;
            r--;
        }
        *(r->other == SETT__NONE ? &r->acts : &r->other_acts) |= acts;
    }
}

/* Operands come before their users in order of recording, so one sweep back marks all. */
static void mark_live(finish *f)
{
    const sett_build *b = f->b;
    bool smem = names_smem(b);
    if (b->serials)
        empty_regions(f);
    for (uint32_t i = b->n_op; i-- > 0;) {
        const sett__op *op = &b->op[i];
        bool empty = f->op[i] == EMPTY;
        if (empty)
            f->op[i] = SETT__NONE;
        if (empty || (f->op[i] == SETT__NONE && !always_kept(op) && !(smem && op->code == SETT__SMEM)))
            continue;
        f->op[i] = LIVE;
        f->n_live++;
        f->n_arg += (uint32_t)op->n_args + op->n_attrs;
        f->n_index += op->code == SETT__PICK ? op->n : 0;
        f->texts |= op->code > SETT__PICK && SETT__HAS_TEXT(op);
        for (uint32_t k = 0; k < op->n_args; k++) /* b->arg may be NULL: no op has operands */
            if (b->arg[op->args + k] != SETT__NONE)
                f->op[b->arg[op->args + k]] = LIVE;
    }
}

static void take_string(finish *f, uint32_t i)
{
    if (f->string[i] != SETT__NONE)
        return;
    f->t->string[f->t->n_string] = f->b->string[i];
    f->string[i] = f->t->n_string++;
}

/* Formats before the names of files: they are part of the kernel's identity, names are not. */
static void take_texts(finish *f)
{
    const sett_build *b = f->b;
    for (uint32_t i = 0; i != SETT__NONE; i = b->next[i])
        if (f->op[i] != SETT__NONE && SETT__HAS_TEXT(&b->op[i]))
            take_string(f, (uint32_t)b->op[i].imm);
}

static uint32_t take_site(finish *f, uint32_t site)
{
    if (site == SETT__NONE || f->site[site] != SETT__NONE)
        return site == SETT__NONE ? site : f->site[site];
    const sett__site_ref *from = &f->b->site[site];
    take_string(f, from->file);
    take_string(f, from->func);
    f->t->site[f->t->n_site] = (sett__site_ref){f->string[from->file], f->string[from->func], from->line};
    return f->site[site] = f->t->n_site++;
}

/* What an operation does to a tensor that it names, or to that of a map. */
static void note_root(sett_build *b, uint32_t id, uint8_t access)
{
    const sett__op *root = id == SETT__NONE ? NULL : &b->op[id];
    if (root && (root->code == SETT__PARAM || root->code == SETT__TMAP))
        b->sig.param[root->code == SETT__TMAP ? b->sig.map[root->imm].param : (uint32_t)root->imm].access |= access;
}

/* Of class FORM: what comes from global memory is read, and what else names some is written. */
static void note_form(sett_build *b, const sett__op *op)
{
    const bool copies = op->code == SETT__MAPREPLACE || op->code == SETT__MAPCOPY; /* to the place that comes first, from a map of which nothing is read */
    for (sett__form f = sett__form_of(op->code); sett__form_next(&f);) {
        const bool writes = !strcmp(f.name, "to") || (!*f.name && op->code != SETT__TMAPAT && op->code != SETT__TMAFETCH && op->code != SETT__MAPFETCH);
        if (f.kinds & (SETT__F_GMEM | SETT__F_MAP) && !(copies && f.k))
            note_root(b, b->arg[op->args + f.k], writes ? SETT__ACCESS_WRITE : SETT__ACCESS_READ);
    }
}

static void note_access(sett_build *b, const sett__op *op)
{
    uint16_t flags = sett__ops[op->code].flags;
    if (sett__ops[op->code].cls == SETT__C_FORM) {
        note_form(b, op);
        return;
    }
    if (op->code == SETT__CPASYNC)
        note_root(b, b->arg[op->args + 3], SETT__ACCESS_READ);
    if (op->code != SETT__LOAD && op->code != SETT__STORE && op->code != SETT__ATOM)
        return;
    const sett__op *root = &b->op[b->arg[op->args]];
    if (root->code == SETT__PARAM && !b->sig.param[root->imm].scalar)
        b->sig.param[root->imm].access |=
            (uint8_t)((flags & SETT__R ? SETT__ACCESS_READ : 0) | (flags & SETT__W ? SETT__ACCESS_WRITE : 0));
}

/* Behind the ops before it, whose numbers its operands are. */
static void take_op(finish *f, uint32_t i)
{
    sett_build *b = f->b;
    sett__tape *t = f->t;
    const sett__op *from = &b->op[i];
    sett__op *op = &t->op[t->n_op];
    f->op[i] = t->n_op++;
    *op = *from;
    op->args = t->n_arg;
    op->depth = 0;
    op->other = SETT__NONE;
    op->site = take_site(f, from->site);
    for (uint32_t k = 0; k < from->n_args; k++) {
        const uint32_t arg = b->arg[from->args + k];
        t->arg[t->n_arg++] = arg == SETT__NONE ? SETT__NONE : f->op[arg];
    }
    for (uint32_t k = 0; k < from->n_attrs; k++)
        t->arg[t->n_arg++] = b->arg[from->args + from->n_args + k];
    if (op->code < SETT__PICK)
        return;
    note_access(b, from);
    if (op->code == SETT__LOAD || op->code == SETT__STORE) /* most of these */
        return;
    if (op->code == SETT__PICK) {
        memcpy(t->index + t->n_index, b->index + from->imm, from->n * sizeof *t->index);
        op->imm = t->n_index;
        t->n_index += from->n;
    } else if (SETT__HAS_TEXT(op)) {
        op->imm = f->string[from->imm];
    } else if (sett__opens(op->code) || sett__closes(op->code)) {
        op->imm = 0; /* held the region's serial */
    }
}

static void *take(sett__tape *t, const void *from, size_t n, size_t item)
{
    void *p = sett__arena_room(&t->arena, n ? n * item : 1);
    if (p && n)
        memcpy(p, from, n * item);
    return p;
}

static bool take_sig(finish *f)
{
    const sett_build *b = f->b;
    sett__tape *t = f->t;
    sett__sig *s = &t->sig;
    *s = b->sig;
    s->sym = take(t, s->sym, s->n_sym, sizeof *s->sym);
    s->param = take(t, s->param, s->n_param, sizeof *s->param);
    s->leaf = take(t, s->leaf, s->n_leaf, sizeof *s->leaf);
    s->code = take(t, s->code, s->n_code, sizeof *s->code);
    s->check = take(t, s->check, s->n_check, sizeof *s->check);
    s->map = take(t, s->map, s->n_map, sizeof *s->map);
    if (!s->sym || !s->param || !s->leaf || !s->code || !s->check || !s->map)
        return false;
    for (uint32_t i = 0; i < s->n_map; i++)
        if (!(s->map[i].name = sett__arena_str(&t->arena, s->map[i].name)))
            return false;
    for (uint32_t i = 0; i < s->n_sym; i++)
        if (!(s->sym[i].name = sett__arena_str(&t->arena, s->sym[i].name)))
            return false;
    for (uint32_t i = 0; i < s->n_param; i++)
        if (!(s->param[i].name = sett__arena_str(&t->arena, s->param[i].name)))
            return false;
    for (uint32_t i = 0; i < s->n_check; i++)
        if (!(s->check[i].text = sett__arena_str(&t->arena, s->check[i].text)) ||
            (s->check[i].file && !(s->check[i].file = sett__arena_str(&t->arena, s->check[i].file))))
            return false;
    bool more = s->smem_more.count > 0;
    s->smem = more ? (b->smem_used + b->more_align - 1) & ~(b->more_align - 1) : b->smem_used;
    s->smem_align = b->smem_used || more ? b->smem_align : 1;
    return true;
}

/* The symbols that have a value go behind the others. */
static void order_symbols(sett__tape *t)
{
    sett__sig *s = &t->sig;
    sett__symbol sym[SETT__MAX_PARAMS];
    uint32_t to[SETT__MAX_PARAMS], n[2] = {0, s->n_sym - s->n_derived};
    for (uint32_t i = 0; i < s->n_sym; i++) {
        to[i] = n[s->sym[i].value.count > 0]++;
        sym[to[i]] = s->sym[i];
    }
    memcpy(s->sym, sym, s->n_sym * sizeof *sym);
    for (uint32_t i = 0; i < s->n_code; i++)
        if (s->code[i].code == SETT__X_SYM)
            s->code[i].imm = to[s->code[i].imm];
    for (uint32_t i = 0; i < t->n_op; i++)
        if (t->op[i].code == SETT__SYM)
            t->op[i].imm = to[t->op[i].imm];
}

/* What maps alone reach has no offsets: the hardware counts coordinates, and a tensor may span more than 2^31 elements. */
static void widen_mapped(sett__tape *t)
{
    bool by_offset[SETT__MAX_PARAMS] = {false};
    for (uint32_t i = 0; i < t->n_op; i++)
        if (t->op[i].code == SETT__PARAM)
            by_offset[t->op[i].imm] = true;
    for (uint32_t i = 0; i < t->sig.n_map; i++)
        if (!by_offset[t->sig.map[i].param])
            t->sig.param[t->sig.map[i].param].wide = true;
}

static bool take_all(finish *f)
{
    sett_build *b = f->b;
    sett__tape *t = f->t;
    t->string = sett__arena_alloc(&t->arena, (b->n_string + 1) * sizeof *t->string);
    t->site = sett__arena_alloc(&t->arena, (b->n_site + 1) * sizeof *t->site);
    if (!t->string || !t->site)
        return false;
    mark_live(f);
    if (f->texts)
        take_texts(f);
    const uint32_t texts = t->n_string;
    t->op = sett__arena_room(&t->arena, (f->n_live + 1) * sizeof *t->op);
    t->arg = sett__arena_room(&t->arena, (f->n_arg + 1) * sizeof *t->arg);
    t->index = sett__arena_room(&t->arena, (f->n_index + 1) * sizeof *t->index);
    if (!t->op || !t->arg || !t->index)
        return false;
    for (uint32_t i = 0; i != SETT__NONE; i = b->next[i])
        if (f->op[i] != SETT__NONE)
            take_op(f, i);
    t->n_path = t->n_string - texts;
    for (uint32_t i = 0; i < t->n_string; i++)
        if (!(t->string[i] = sett__arena_str(&t->arena, t->string[i])))
            return false;
    if (!take_sig(f))
        return false;
    if (t->sig.n_derived)
        order_symbols(t);
    widen_mapped(t);
    return true;
}

static void check_open(sett_build *b)
{
    if (b->race_ok)
        sett__fail(b, b->race_ok_at, "sett_race_ok", SETT_E_REGION, "this region was left by break, return or goto");
    if (!b->depth)
        return;
    const sett__region *r = &b->region[b->depth - 1];
    sett__fail(b, r->site, sett__opener(b->op[r->op].code), SETT_E_REGION, "this region was left by return or goto and never ended");
}

/* An index of what has one value says that the launch's shape was forgotten. */
static void check_launch_said(sett_build *b)
{
    if (b->block[0] && b->grid[0])
        return;
    for (uint32_t i = 0, last = SETT__NONE; last != b->entry_last && !b->error.status; last = i, i = b->next[i]) { /* they are entry ops */
        const sett__op *op = &b->op[i];
        bool of_grid = op->code == SETT__BID || op->code == SETT__GDIM;
        if (sett__ops[op->code].cls != SETT__C_SREG || (of_grid ? b->grid[0] : b->block[0]))
            continue;
        const sett__site_ref *at = op->site == SETT__NONE ? NULL : &b->site[op->site];
        const char *what = of_grid ? "grid" : "block";
        sett__fail(b, (sett_site){at ? b->string[at->file] : NULL, NULL, at ? (int)at->line : 0, 0}, b->asked[op->code - SETT__TID],
            SETT_E_ARGUMENT, "the %s was never said: sett_%s(b, ...)", what, what);
    }
}

/* The name of the tensor whose root is op `id` of the tape; NULL: it is none's. */
static const char *root_named(const finish *f, uint32_t id)
{
    const sett__op *op = id < f->t->n_op ? &f->t->op[id] : NULL;
    if (op && op->code == SETT__PARAM)
        return f->t->sig.param[op->imm].name;
    for (const sett__root_name *n = f->b->root_names; op && n; n = n->older)
        if (f->op[n->root] == id)
            return n->name;
    return NULL;
}

/* The verifier names roots by their op, as the tape's text does: behind what it says, the tensors of a body's author. */
static void name_roots(const finish *f, sett_error *err)
{
    enum { MOST = 4 };
    uint32_t told[MOST], n = 0;
    size_t end = strlen(err->text);
    for (const char *at = err->text, *stop = at + end; n < MOST && (at = memchr(at, '%', (size_t)(stop - at))); at++) {
        const uint32_t id = (uint32_t)strtoul(at + 1, NULL, 10);
        const char *name = at[1] >= '0' && at[1] <= '9' ? root_named(f, id) : NULL;
        bool first = name != NULL;
        for (uint32_t i = 0; i < n; i++)
            first = first && told[i] != id;
        char where[130];
        if (!first)
            continue;
        told[n++] = id;
        end += (size_t)snprintf(err->text + end, sizeof err->text - end, "; %%%u is %s of %s", id, name, sett__op_where(f->t, id, where, sizeof where));
        end = end < sizeof err->text ? end : sizeof err->text - 1;
    }
}

sett_status sett__build_finish(sett_build *b, sett__tape *t, sett_error *err)
{
    memset(t, 0, sizeof *t);
    t->arena.mem = b->mem;
    check_open(b);
    check_launch_said(b);
    sett__end_slots(b);
    sett__check_shares(b);
    if (b->error.status) {
        if (err)
            *err = b->error;
        return b->error.status;
    }
    b->ended = true;
    size_t words = (size_t)b->n_op + b->n_string + b->n_site;
    uint32_t *map = sett__mem_alloc(b->mem, words * sizeof *map);
    if (!map)
        return sett__error(err, SETT_E_MEMORY, "out of memory");
    memset(map, 0xff, words * sizeof *map);
    finish f = {.b = b, .t = t, .op = map, .string = map + b->n_op};
    f.site = f.string + b->n_string;
    bool ok = take_all(&f);
    sett_status status = SETT_OK;
    if (!ok)
        status = sett__error(err, SETT_E_MEMORY, "out of memory");
    else if (!sett__tape_link(t))
        status = sett__error(err, SETT_E_INTERNAL, "the recorded regions do not nest");
    else
        status = sett__tape_verify(t, NULL, err);
    if (status && ok && err)
        name_roots(&f, err);
    sett__mem_free(b->mem, map);
    if (!status && !sett__tape_claims(t))
        status = sett__error(err, SETT_E_MEMORY, "out of memory");
    if (status)
        sett__tape_free(t);
    return status;
}
