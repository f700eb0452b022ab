/* SPDX-License-Identifier: Apache-2.0 */
/* Values that never need turning. Memory has a lane's elements side by side, rows have an element's
 * lanes. What is loaded, computed element by element and stored, all by the same number of elements,
 * may stay in memory's order from end to end: then whole warps are plain copies. Values that an op
 * ties together form a group (union-find); one use that must see rows keeps the whole group in rows. */
#include "holds.h"
#include <stdlib.h>

typedef struct group {
    uint32_t parent;
    uint32_t width;   /* elements of the accesses; 0: none yet */
    uint32_t divides; /* the width must divide this: where picks and packs cut; 0: anything does */
    bool rows;        /* must stay in rows */
} group;
typedef struct flatten {
    const sett__tape *tape;
    const sett__slot *slot;
    group *group;
} flatten;

static bool wide(const flatten *f, uint32_t v)
{
    return v != SETT__NONE && f->tape->op[v].n > 1 && f->slot[v].rows > 1;
}

static group *find_group(flatten *f, uint32_t v)
{
    group *g = f->group;
    while (g[v].parent != v)
        v = g[v].parent = g[g[v].parent].parent;
    return &g[v];
}

static void in_rows(flatten *f, uint32_t v)
{
    if (wide(f, v))
        find_group(f, v)->rows = true;
}

static void set_width(group *g, uint32_t width)
{
    g->rows |= g->width && width && g->width != width;
    g->width = width ? width : g->width;
}

static void join(flatten *f, uint32_t v, uint32_t w)
{
    group *a = find_group(f, v), *b = find_group(f, w);
    if (a == b)
        return;
    b->parent = a->parent;
    a->rows |= b->rows;
    a->divides = (uint32_t)sett__gcd(a->divides, b->divides);
    set_width(a, b->width);
}

static void cut(flatten *f, uint32_t v, uint32_t at, uint32_t n)
{
    group *g = find_group(f, v);
    g->divides = (uint32_t)sett__gcd(g->divides, sett__gcd(at, n));
}

/* v is loaded or stored as a whole. A thread's array may have memory's order too, where every place in it
 * is known. */
static void access_whole(flatten *f, const sett__op *o, uint32_t v)
{
    uint32_t root = sett__arg(f->tape, o, 0);
    if (f->tape->op[root].code == SETT__RMEM) {
        bool known = sett__arg(f->tape, o, 1) == SETT__NONE && f->slot[v].lg == f->slot[root].lg;
        if (!known || (wide(f, v) && !wide(f, root)))
            in_rows(f, v), in_rows(f, root);
        else if (f->tape->op[v].n > 1 && wide(f, root))
            cut(f, root, (uint32_t)o->imm, f->tape->op[v].n);
        if (known && wide(f, v) && wide(f, root))
            join(f, v, root);
    } else if (wide(f, v)) {
        if (f->slot[v].lg > 3)
            in_rows(f, v);
        else
            set_width(find_group(f, v), f->tape->op[v].n);
    }
}

/* v has w's elements in w's order; what is not wide is one row, the same in every lane or not. */
static void tie(flatten *f, uint32_t v, uint32_t w)
{
    if (wide(f, w) && wide(f, v))
        join(f, v, w);
    else if (wide(f, w))
        in_rows(f, w);
    else if (!f->slot[w].uniform)
        in_rows(f, v);
}

static void tie_pick(flatten *f, const sett__op *o, uint32_t v)
{
    uint32_t a = sett__arg(f->tape, o, 0);
    if (wide(f, a) && o->n == 1 && f->slot[v].section == SETT__BODY)
        return; /* taken out by a copy */
    if (!wide(f, a) || !wide(f, v) || !f->slot[v].view) {
        in_rows(f, a);
        in_rows(f, v);
        return;
    }
    join(f, v, a);
    cut(f, v, f->tape->index[o->imm], o->n);
}

static void tie_pack(flatten *f, const sett__op *o, uint32_t v)
{
    uint32_t at = 0;
    for (int i = 0; i < o->n_args; i++) {
        uint32_t a = sett__arg(f->tape, o, i), n = f->tape->op[a].n;
        if (!wide(f, a) || !wide(f, v)) {
            in_rows(f, a);
            in_rows(f, v);
        } else {
            join(f, v, a);
            cut(f, v, at, n);
        }
        at += n;
    }
}

static void visit(flatten *f, uint32_t v)
{
    const sett__op *o = &f->tape->op[v];
    switch ((sett__class)sett__ops[o->code].cls) {
    case SETT__C_LOAD:
        access_whole(f, o, v);
        if (sett__arg(f->tape, o, 3) != SETT__NONE)
            tie(f, v, sett__arg(f->tape, o, 3));
        return;
    case SETT__C_STORE:
        access_whole(f, o, sett__arg(f->tape, o, 3));
        return;
    case SETT__C_PICK:
        tie_pick(f, o, v);
        return;
    case SETT__C_PACK:
        tie_pack(f, o, v);
        return;
    case SETT__C_CONVERT:
        if (o->code == SETT__BITCAST && !f->slot[v].view)
            break;
        tie(f, v, sett__arg(f->tape, o, 0));
        return;
    case SETT__C_BINARY:
    case SETT__C_COMPARE:
    case SETT__C_TERNARY:
    case SETT__C_SELECT:
    case SETT__C_UNARY:
        for (int i = 0; i < o->n_args; i++)
            tie(f, v, sett__arg(f->tape, o, i));
        return;
    case SETT__C_ROOT:
        return;
    default:
        break;
    }
    in_rows(f, v);
    for (int i = 0; i < o->n_args; i++)
        in_rows(f, sett__arg(f->tape, o, i));
}

bool sett__find_flat(const sett__tape *tape, sett__slot *slot)
{
    flatten f = {.tape = tape, .slot = slot, .group = calloc((size_t)tape->n_op + 1, sizeof *f.group)};
    if (!f.group)
        return false;
    for (uint32_t v = 0; v < tape->n_op; v++)
        f.group[v].parent = v;
    for (uint32_t v = 0; v < tape->n_op; v++) {
        visit(&f, v);
        if (wide(&f, v))
            cut(&f, v, 0, slot[v].rows);
    }
    for (uint32_t v = 0; v < tape->n_op; v++) {
        const group *g = find_group(&f, v);
        slot[v].flat = wide(&f, v) && g->width > 1 && !g->rows && g->divides % g->width == 0;
        slot[v].width = slot[v].flat ? g->width : 1;
        const sett__op *o = &tape->op[v];
        if (o->code == SETT__PICK && o->n == 1 && slot[sett__arg(tape, o, 0)].flat) {
            slot[v].view = false;
            slot[v].home = v;
            slot[v].off = 0;
        }
    }
    free(f.group);
    SETT__HOLDS(sett__holds_flat(tape, slot));
    return true;
}

/* ---- what need not be copied into a frame ----------------------------------------------------------- */
/* A value that is loaded and used by arithmetic before anything can write to memory may be read where it lies, by each use again: not
 * one that others may change meanwhile.
 * `now` counts the ops that may write, and those where control parts or joins. */
typedef struct lazies {
    const sett__tape *tape;
    sett__slot *slot;
    uint32_t *made; /* by home: when; SETT__NONE: not yet, or never lazy */
    uint32_t now;
} lazies;
enum { NEVER = 0 };

static bool lazy_load(const lazies *z, uint32_t v)
{
    const sett__op *o = &z->tape->op[v];
    const sett__slot *s = &z->slot[v];
    bool whole = o->n == 1 || s->flat || z->tape->op[z->tape->arg[o->args]].code == SETT__RMEM;
    return o->dtype != SETT_BOOL && s->lg <= 3 && whole && !sett__attr(z->tape->arg, o, SETT__AT_ACCESS_VOLATILE);
}

static void note_made(lazies *z, uint32_t v)
{
    uint32_t *when = &z->made[z->slot[v].home];
    bool load = sett__ops[z->tape->op[v].code].cls == SETT__C_LOAD && lazy_load(z, v);
    if (!z->slot[v].view && z->tape->op[v].code != SETT__PACK)
        *when = load && (*when == SETT__NONE || *when == z->now) ? z->now : NEVER;
}

/* Parts that were not made in their place are copied. */
static void note_pack(lazies *z, const sett__op *o, uint32_t v)
{
    uint32_t off = z->slot[v].off;
    for (int k = 0; k < o->n_args; k++) {
        uint32_t a = z->tape->arg[o->args + (uint32_t)k];
        if (z->slot[a].home != z->slot[v].home || z->slot[a].off != off || z->made[z->slot[v].home] != z->now)
            z->made[z->slot[a].home] = z->made[z->slot[v].home] = NEVER;
        off += z->tape->op[a].n * (WARP << z->slot[a].lg);
    }
}

/* A store takes its value as it lies only if it cannot meet it: an array of the thread's own. */
static void note_use(lazies *z, const sett__op *o, uint32_t v, int k)
{
    uint32_t home = z->slot[v].home;
    const uint32_t *arg = z->tape->arg + o->args;
    bool ok = z->made[home] == z->now;
    switch ((sett__class)sett__ops[o->code].cls) {
    case SETT__C_BINARY:
    case SETT__C_COMPARE:
    case SETT__C_TERNARY:
    case SETT__C_SELECT:
    case SETT__C_UNARY:
        break;
    case SETT__C_CONVERT:
        ok &= o->code == SETT__CONVERT || z->slot[o - z->tape->op].view;
        break;
    case SETT__C_PICK:
        ok &= z->slot[o - z->tape->op].view;
        break;
    case SETT__C_STORE:
        ok &= k == 3 && z->tape->op[arg[0]].code == SETT__RMEM && z->tape->op[v].code == SETT__LOAD &&
              z->tape->arg[z->tape->op[v].args] != arg[0];
        break;
    default:
        ok = false;
    }
    if (!ok)
        z->made[home] = NEVER;
}

static void follow(lazies *z)
{
    for (uint32_t v = 0; v < z->tape->n_op; v++) {
        const sett__op *o = &z->tape->op[v];
        uint8_t cls = sett__ops[o->code].cls;
        for (int k = 0; k < o->n_args; k++) {
            uint32_t a = z->tape->arg[o->args + (uint32_t)k];
            if (a != SETT__NONE && o->code != SETT__PACK)
                note_use(z, o, a, k);
        }
        if (o->code == SETT__PACK)
            note_pack(z, o, v);
        if (cls != SETT__C_LOAD && !(sett__ops[o->code].flags & SETT__P))
            z->now++;
        if (o->dtype && o->n && cls != SETT__C_ROOT)
            note_made(z, v);
    }
}

bool sett__find_lazy(const sett__tape *tape, sett__slot *slot, uint32_t *n_lazy)
{
    lazies z = {.tape = tape, .slot = slot, .made = malloc(((size_t)tape->n_op + 1) * sizeof *z.made), .now = NEVER + 1};
    if (!z.made)
        return false;
    for (uint32_t v = 0; v < tape->n_op; v++)
        z.made[v] = SETT__NONE;
    follow(&z);
    *n_lazy = 0;
    for (uint32_t v = 0; v < tape->n_op; v++) {
        bool lazy = slot[v].home == v && slot[v].section == SETT__BODY && z.made[v] != NEVER && z.made[v] != SETT__NONE;
        slot[v].lazy = lazy ? *n_lazy : SETT__NONE;
        *n_lazy += lazy ? slot[v].rows / slot[v].width : 0;
    }
    free(z.made);
    SETT__HOLDS(sett__holds_lazy(tape, slot));
    return true;
}
