/* SPDX-License-Identifier: Apache-2.0 */
/* What of a tape depends on the order in which warps and copies went on, and what on the contents of memory. A clean run of one order is a
 * proof for all of them only if no store, branch or address can come out otherwise in another order; and for all contents of memory only
 * if no branch or address reads them. (The rest of the proof is at run time: mbarriers.) */
#include "depends.h"
#include "lib/tape/ops.h"
#include <stdlib.h>

/* The operations that a value's dependence comes from; SETT__NONE: it has none. */
typedef struct mark { uint32_t order, data; } mark;
static const mark NOTHING = {SETT__NONE, SETT__NONE};
enum { SHARED, GLOBAL, SPACES };
typedef struct walk {
    const sett__tape *t;
    mark *of;        /* by op: of its value; of a root of registers, of what lies in it */
    mark in[SPACES]; /* of what lies in memory, whose roots may overlap */
    mark control;    /* of the branches around */
    mark saved[SETT__MAX_DEPTH + 1];
    int depth;
    bool grown;
    sett__depends *found;
} walk;

static mark both(mark a, mark b)
{
    return (mark){a.order == SETT__NONE ? b.order : a.order, a.data == SETT__NONE ? b.data : a.data};
}

static mark by_order(uint32_t op)
{
    return (mark){op, SETT__NONE};
}

static mark by_data(uint32_t op)
{
    return (mark){SETT__NONE, op};
}

static mark only_order(mark a)
{
    return by_order(a.order);
}

static void grow(walk *w, mark *to, mark what)
{
    const mark was = *to;
    *to = both(was, what);
    w->grown |= to->order != was.order || to->data != was.data;
}

static mark arg(const walk *w, const sett__op *o, uint32_t k)
{
    const uint32_t a = k < o->n_args ? w->t->arg[o->args + k] : SETT__NONE;
    return a == SETT__NONE ? NOTHING : w->of[a];
}

static mark all_args(const walk *w, const sett__op *o)
{
    mark what = NOTHING;
    for (uint32_t k = 0; k < o->n_args; k++)
        what = both(what, arg(w, o, k));
    return what;
}

/* It decides an address, a branch, or, of an order, what is stored. */
static void decides(walk *w, uint32_t op, mark what)
{
    sett__depends *d = w->found;
    if (what.order != SETT__NONE && op < d->order_at)
        d->order_at = op, d->order = what.order;
    if (what.data != SETT__NONE && op < d->data_at)
        d->data_at = op, d->data = what.data;
}

/* ---- memory ------------------------------------------------------------------------------------------ */
static mark *at_root(walk *w, uint32_t root)
{
    const sett__op *r = &w->t->op[root];
    if (r->code == SETT__RMEM)
        return &w->of[root];
    return &w->in[r->code == SETT__SMEM || r->code == SETT__PEER ? SHARED : GLOBAL];
}

/* A parameter that is passed by value is no memory of others. */
static bool is_memory(const walk *w, const sett__op *r)
{
    return r->code != SETT__RMEM && !(r->code == SETT__PARAM && w->t->sig.param[r->imm].scalar);
}

static mark read(walk *w, uint32_t op, uint32_t root)
{
    return both(*at_root(w, root), is_memory(w, &w->t->op[root]) ? by_data(op) : NOTHING);
}

static void write(walk *w, uint32_t op, uint32_t root, mark what)
{
    what = both(what, w->control);
    grow(w, at_root(w, root), what);
    if (w->t->op[root].code != SETT__RMEM)
        decides(w, op, only_order(what));
}

/* Of LOAD, STORE and ATOM: (root, base, pred, ...). */
static void access(walk *w, uint32_t i)
{
    enum { ROOT, BASE, PRED, VALUE, WAS };
    const sett__op *o = &w->t->op[i];
    const uint32_t root = w->t->arg[o->args + ROOT];
    const mark where = both(arg(w, o, BASE), arg(w, o, PRED)), value = both(arg(w, o, VALUE), arg(w, o, WAS));
    decides(w, i, where);
    if (o->code == SETT__LOAD) {
        const bool asks = sett__attr(w->t->arg, o, SETT__AT_ACCESS_VOLATILE);
        grow(w, &w->of[i], both(both(read(w, i, root), value), both(where, asks ? by_order(i) : NOTHING)));
        return;
    }
    write(w, i, root, value);
    if (o->code != SETT__ATOM)
        return;
    grow(w, &w->of[i], both(read(w, i, root), by_order(i)));
    if (sett__dtype_kind(o->dtype) == 'f' && o->sub == SETT__ADD) /* which sum came first is in the last bits */
        grow(w, at_root(w, root), by_order(i));
}

/* Is it the answer of an mbarrier? */
static bool of_mbarrier(const sett__tape *t, uint32_t op)
{
    return t->op[op].code == SETT__MBTRY || t->op[op].code == SETT__MBTEST;
}

/* ---- operations by what ops.def says of their operands --------------------------------------------------------- */
/* Words behind a mask decide where, or whether: places, predicates, coordinates, bytes, counts. */
static mark take_item(walk *w, uint32_t i, const sett__form *f, mark *value)
{
    const sett__op *o = &w->t->op[i];
    const uint32_t k = f->k, last = f->repeated ? o->n_args : k + f->words;
    mark where = NOTHING;
    for (uint32_t n = k; n < last && n < o->n_args; n++) {
        const uint32_t a = w->t->arg[o->args + n];
        if (a == SETT__NONE)
            continue;
        if (sett__ops[w->t->op[a].code].cls == SETT__C_ROOT)
            *value = both(*value, w->t->op[a].code == SETT__RMEM ? w->of[a] : NOTHING);
        else if (f->kinds & (SETT__F_TYPED | SETT__F_ANY))
            *value = both(*value, w->of[a]);
        else
            where = both(where, w->of[a]);
    }
    return where;
}

/* What it writes: its first place, or, where that is the source of a copy out of shared memory, global memory by a map. */
static void stores(walk *w, uint32_t i, mark value)
{
    const sett__op *o = &w->t->op[i];
    const uint32_t root = o->n_args ? w->t->arg[o->args] : SETT__NONE;
    if (root == SETT__NONE || !(sett__ops[o->code].flags & SETT__W) || sett__ops[w->t->op[root].code].cls != SETT__C_ROOT)
        return;
    if (o->code == SETT__WGMMA)
        grow(w, &w->of[root], both(both(value, w->in[SHARED]), both(by_data(i), w->control)));
    else if (o->code == SETT__TMASTORE || o->code == SETT__TMAREDUCE)
        grow(w, &w->in[GLOBAL], both(w->in[SHARED], o->code == SETT__TMAREDUCE ? by_order(i) : NOTHING));
    else if (o->code == SETT__BULKSTORE || o->code == SETT__BULKREDUCE)
        write(w, i, root, both(w->in[SHARED], o->code == SETT__BULKREDUCE ? by_order(i) : NOTHING));
    else if (o->code == SETT__TMALOAD || o->code == SETT__BULKLOAD || o->code == SETT__BULKPEER)
        write(w, i, root, both(w->in[GLOBAL], w->in[SHARED]));
    else if (o->code == SETT__STMATRIX || o->code == SETT__STASYNC || o->code == SETT__MAPREPLACE || o->code == SETT__MAPCOPY)
        write(w, i, root, value);
}

static void form(walk *w, uint32_t i)
{
    const sett__op *o = &w->t->op[i];
    const bool asks = of_mbarrier(w->t, i);
    mark value = NOTHING, where = NOTHING;
    for (sett__form f = sett__form_of(o->code); sett__form_next(&f);)
        where = both(where, take_item(w, i, &f, &value));
    if (o->dtype) { /* an address or a policy is no access yet */
        const mark seen = o->code == SETT__LDMATRIX ? both(w->in[SHARED], by_data(i)) : asks ? by_order(i) : NOTHING;
        grow(w, &w->of[i], both(both(value, where), seen));
        if (o->code == SETT__LDMATRIX)
            decides(w, i, where);
        return;
    }
    decides(w, i, where);
    stores(w, i, value);
}

/* ---- branches ------------------------------------------------------------------------------------------------------- */
/* From op `first` to its end: does it nothing but ask mbarriers, and compute? Then nobody can tell which way it went, or how often. */
static bool only_asks(const sett__tape *t, uint32_t first)
{
    const uint32_t end = t->op[first].other;
    if (t->op[end].code == SETT__ELSE)
        return false;
    for (uint32_t i = first + 1; i < end; i++) {
        const sett__op *o = &t->op[i];
        const uint8_t cls = sett__ops[o->code].cls;
        const bool asks = o->code == SETT__MBTRY || o->code == SETT__MBTEST, region = sett__opens(o->code) || sett__closes(o->code) || o->code == SETT__WHILE;
        if (!asks && !region && (cls == SETT__C_ELSE || sett__ops[o->code].flags & (SETT__W | SETT__C)))
            return false;
    }
    return end > first;
}

static void open(walk *w)
{
    w->saved[w->depth++] = w->control;
}

static void branch(walk *w, uint32_t i)
{
    const sett__op *o = &w->t->op[i];
    const uint32_t region = o->code == SETT__WHILE ? o->other : i;
    mark what = all_args(w, o);
    if (what.order != SETT__NONE && w->t->op[region].code != SETT__FOR && only_asks(w->t, region) && of_mbarrier(w->t, what.order))
        what.order = SETT__NONE;
    if (o->code == SETT__IF || o->code == SETT__FOR || o->code == SETT__LOOP)
        open(w);
    decides(w, i, what);
    w->control = both(w->control, what);
    if (o->code == SETT__FOR)
        grow(w, &w->of[i], what);
}

static void close(walk *w, const sett__op *o)
{
    if (o->code == SETT__END && w->depth)
        w->control = w->saved[--w->depth];
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */
static bool changes_by_itself(const sett__op *o)
{
    return o->code == SETT__PTXV || (o->code == SETT__SPECIAL && (o->sub == SETT__SREG_CLOCK || o->sub == SETT__SREG_CLOCK64 || o->sub == SETT__SREG_GLOBALTIMER ||
        o->sub == SETT__SREG_SMID || o->sub == SETT__SREG_WARPID || o->sub == SETT__SREG_GRIDID));
}

static void step(walk *w, uint32_t i)
{
    enum { TO, TO_BASE, PRED, FROM, FROM_BASE, KEEP };
    const sett__op *o = &w->t->op[i];
    switch ((sett__class)sett__ops[o->code].cls) {
    case SETT__C_LOAD:
    case SETT__C_STORE:
    case SETT__C_ATOM: access(w, i); return;
    case SETT__C_CPASYNC:
        decides(w, i, both(both(arg(w, o, TO_BASE), arg(w, o, PRED)), both(arg(w, o, FROM_BASE), arg(w, o, KEEP))));
        write(w, i, w->t->arg[o->args + TO], read(w, i, w->t->arg[o->args + FROM]));
        return;
    case SETT__C_FORM: form(w, i); return;
    case SETT__C_IF:
    case SETT__C_FOR:
    case SETT__C_LOOP:
    case SETT__C_WHILE: branch(w, i); return;
    case SETT__C_END: close(w, o); return;
    case SETT__C_ROOT: /* an address, a rank */
        if (o->code == SETT__GMEM || o->code == SETT__PEER)
            decides(w, i, o->code == SETT__GMEM ? arg(w, o, 0) : arg(w, o, 1));
        return;
    default: break;
    }
    const mark own = changes_by_itself(o) ? (mark){i, i} : NOTHING;
    if (o->dtype)
        grow(w, &w->of[i], both(own, all_args(w, o)));
    else
        decides(w, i, own);
}

bool sett__depends_of(const sett__tape *t, sett__depends *d)
{
    walk w = {.t = t, .of = malloc(((size_t)t->n_op + 1) * sizeof *w.of), .in = {NOTHING, NOTHING}, .grown = true, .found = d};
    *d = (sett__depends){SETT__NONE, SETT__NONE, SETT__NONE, SETT__NONE};
    if (!w.of)
        return false;
    for (uint32_t i = 0; i < t->n_op; i++)
        w.of[i] = NOTHING;
    while (w.grown) { /* a round of a loop reads what the one before has written */
        w.grown = false;
        w.control = NOTHING, w.depth = 0;
        for (uint32_t i = 0; i < t->n_op; i++)
            step(&w, i);
    }
    free(w.of);
    return true;
}
