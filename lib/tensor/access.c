/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and storing whole views.
 *
 * The elements, in order of place, fall into runs of adjacent ones; a run is cut into accesses as wide as the proven
 * alignment allows, up to 16 bytes. Under a predicate that knows its coordinates an access of several elements is
 *     one test and one wide access, if they are all inside or all outside; else
 *     if (all inside and aligned) one wide access, else a guarded narrow one for each part,
 * with one branch around the wide ones of all accesses, which is the one that full blocks take.
 * Elements that lie in one place, by a stride of 0, are loaded once: where their predicates differ, if one of them holds,
 * and those whose own does not are given the fill.
 * What is loaded in a region reaches the code after it through an rmem temporary. */
#include "inside.h"
#include <string.h>

#define WIDEST 16     /* bytes of one access */
#define SHARED 16u    /* accesses under one shared test */

typedef struct access {
    sett__cut x; /* its spots: elements, less those that lie in one place. Its kinds: results, of which a load has one for each
                    predicate of a place */
    const sett__ctx *c;
    const sett__move *m;
    const sett_tensor *t;
    sett__places *p;
    sett_dtype dtype;
    uint32_t *slot; /* loads: element to result */
    uint32_t fill, tmp, *part;
} access;

static bool is_load(const access *a)
{
    return !a->m->val;
}

static bool gives(const access *a) /* a value of the tensor's shape */
{
    return is_load(a) || a->m->atomic;
}

static bool take_pred(access *a)
{
    const uint32_t *which = a->m->which;
    const sett_arg shape = a->m->shape ? *a->m->shape : a->t->layout->shape;
    sett__guard *g = &a->x.guard;
    if (!sett__guard_take(a->c, g, a->m->pred, which ? a->m->elements : a->p->n, shape, a->t->space != SETT_RMEM))
        return false;
    if (!which || !g->map)
        return true;
    const uint32_t *map = g->map;
    g->map = sett__new(a->c->b, a->p->n * sizeof *g->map);
    for (uint32_t i = 0; g->map && i < a->p->n; i++)
        g->map[i] = map[which[i]];
    return g->map != NULL;
}

/* ---- order -------------------------------------------------------------------------------- */
/* The result of the last spot under a predicate. known: of a predicate, the result that it was last found for, plus 1. */
static uint32_t result_of(access *a, uint32_t kind, uint32_t *known)
{
    uint32_t *end = &a->x.first[a->x.n];
    if (known[kind] <= a->x.first[a->x.n - 1]) {
        a->x.kind[*end] = kind;
        known[kind] = ++*end;
    }
    return known[kind] - 1;
}

/* Elements in one place: a load needs one of them, whatever their predicates; of a store the last stays of those that have
 * one predicate; atomics do all. */
static bool take_spots(access *a)
{
    sett_build *b = a->c->b;
    bool load = is_load(a);
    a->x.spot = sett__spots(a->c, a->p, load ? NULL : a->x.guard.map);
    a->slot = sett__new(b, a->p->n * sizeof *a->slot);
    a->x.kind = sett__new(b, a->p->n * sizeof *a->x.kind);
    a->x.first = sett__new(b, (a->p->n + 1) * sizeof *a->x.first);
    uint32_t *known = sett__new(b, a->x.guard.kinds * sizeof *known);
    if (!a->x.spot || b->error.status)
        return false;
    for (uint32_t i = 0; i < a->p->n; i++) {
        sett__spot s = a->x.spot[i], *last = a->x.n ? &a->x.spot[a->x.n - 1] : NULL;
        bool same = last && !a->m->atomic && last->group == s.group && last->imm == s.imm && last->kind == s.kind;
        if (!same) {
            a->x.spot[a->x.n++] = s;
            a->x.first[a->x.n] = a->x.first[a->x.n - 1];
        } else if (!load) {
            *last = s;
        }
        a->slot[s.elem] = result_of(a, a->x.guard.map ? a->x.guard.map[s.elem] : 0, known);
    }
    return true;
}

static uint32_t results(const access *a, uint32_t first, uint32_t n) /* of n spots */
{
    return sett__cut_kinds(&a->x, first, n);
}

static const uint32_t *kinds(const access *a, uint32_t first)
{
    return a->x.kind + a->x.first[first];
}

/* Bytes of one access. Of atomics only additions have instructions for several elements; in smem of pairs of 16 bits. */
static uint32_t widest(const access *a)
{
    bool halves = a->dtype == SETT_F16 || a->dtype == SETT_BF16;
    if (!a->m->atomic)
        return a->m->single ? a->x.bytes : WIDEST;
    if (a->m->atomic != SETT__ADD || (!halves && a->dtype != SETT_F32))
        return a->x.bytes;
    return a->t->space == SETT_GMEM ? SETT__ATOM_WIDEST : 4;
}

/* ---- recording ------------------------------------------------------------------------------- */
static uint32_t record(const access *a, sett__code code, sett_dtype dtype, uint32_t n, const uint32_t *args, int n_args)
{
    return sett__record(
        a->c->b, a->c->site, &(sett__emit){.code = code, .dtype = dtype, .n = n, .n_args = n_args, .args = args});
}

static uint32_t boolean(uint32_t op) /* of a guard: no operand if it is known to hold */
{
    return op == SETT__TRUE ? SETT__NONE : op;
}

/* The part of a value that n spots take. */
static uint32_t chunk(const access *a, const sett_val *val, uint32_t first, uint32_t n)
{
    uint32_t small[16], *idx = n <= SETT__COUNT(small) ? small : sett__new(a->c->b, n * sizeof *idx);
    bool whole = n == val->n;
    if (val->n == 1)
        return n == 1 ? val->id : sett__splat(a->c->b, a->c->site, val->id, n);
    for (uint32_t i = 0; idx && i < n; i++) {
        idx[i] = a->x.spot[first + i].elem;
        whole = whole && idx[i] == i;
    }
    return whole ? val->id : idx ? sett__pick(a->c->b, a->c->site, val->id, idx, n) : 0;
}

/* LOAD, STORE or ATOM of n spots under a guard that is not SETT__FALSE. */
static uint32_t touch(const access *a, uint32_t first, uint32_t n, uint32_t guard)
{
    sett_arg base = sett__cut_base(&a->x, 0, first);
    uint32_t align = sett__cut_align(&a->x, 0, first);
    if (a->t->space != SETT_RMEM && align < n * a->x.bytes)
        align = n * a->x.bytes; /* tested at run time */
    uint32_t pred = boolean(guard), fill = pred == SETT__NONE ? SETT__NONE : a->fill;
    uint32_t args[5] = {a->t->root, base.kind == SETT_VALUE ? base.u.v->id : SETT__NONE, pred, fill};
    if (!sett__inside(a->c, a->t, base, a->x.spot[first].imm, n, a->x.bytes))
        return 0;
    sett__emit e = {.code = SETT__LOAD, .dtype = a->dtype, .n = n, .imm = a->x.spot[first].imm, .n_args = 4, .args = args,
        .sub = (uint8_t)__builtin_ctz(align), .n_attrs = 1, .attrs = &a->m->cache};
    if (!is_load(a)) {
        e.code = SETT__STORE, e.dtype = (sett_dtype)0, e.n = 0;
        args[3] = chunk(a, a->m->val, first, n);
    }
    if (a->m->atomic) {
        e.code = SETT__ATOM, e.dtype = a->dtype, e.n = n, e.sub = a->m->atomic, e.n_attrs = SETT__COUNT(a->m->how), e.attrs = a->m->how;
        args[4] = a->m->was ? chunk(a, a->m->was, first, n) : SETT__NONE;
        e.n_args = a->m->was ? 5 : 4;
    }
    return sett__record(a->c->b, a->c->site, &e);
}

static void keep_at(const access *a, uint32_t at, uint32_t id)
{
    const uint32_t args[4] = {a->tmp, SETT__NONE, SETT__NONE, id};
    sett__record(a->c->b, a->c->site,
        &(sett__emit){.code = SETT__STORE,
            .imm = at,
            .n_args = 4,
            .args = args,
            .sub = (uint8_t)__builtin_ctz(at * a->x.bytes | 32)});
}

/* No store crosses a multiple of a power of two that is not above its length: LLVM cuts the temporary into vectors that begin there,
 * and leaves it in local memory where a store lies in two of them. */
static void keep(access *a, uint32_t first, uint32_t id)
{
    sett_build *b = a->c->b;
    uint32_t at = a->x.first[first], n = b->op[id].n, from = 0, part;
    if (a->tmp == SETT__NONE) {
        *a->part++ = id;
        return;
    }
    for (; from < n && !b->error.status; at += part, from += part) {
        part = at && (at & (0 - at)) < n - from ? at & (0 - at) : n - from;
        uint32_t *index = part < n ? sett__new(b, part * sizeof *index) : NULL;
        for (uint32_t i = 0; index && i < part; i++)
            index[i] = from + i;
        keep_at(a, at, index ? sett__pick(b, a->c->site, id, index, part) : id);
    }
}

/* The results of n spots, of which one each was loaded. */
static uint32_t spread(const access *a, uint32_t first, uint32_t n, uint32_t id)
{
    uint32_t all = results(a, first, n), at = 0, *index = all == n ? NULL : sett__new(a->c->b, all * sizeof *index);
    if (!index)
        return id;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = results(a, first + i, 1); k; k--)
            index[at++] = i;
    return sett__pick(a->c->b, a->c->site, id, index, all);
}

/* What was loaded since one of the results' predicates holds: the fill where theirs do not. */
static uint32_t choice(const access *a, uint32_t first, uint32_t n, uint32_t id)
{
    uint32_t all = results(a, first, n), *test = sett__new(a->c->b, all * sizeof *test);
    for (uint32_t i = 0; test && i < all; i++) {
        test[i] = sett__guard_all(a->c, &a->x.guard, kinds(a, first) + i, 1, true);
        if (test[i] == SETT__TRUE || test[i] == SETT__FALSE)
            test[i] = sett__const_bits(a->c->b, a->c->site, SETT_BOOL, test[i] == SETT__TRUE)->id;
    }
    uint32_t cond = test ? record(a, SETT__PACK, SETT_BOOL, all, test, (int)all) : 0;
    return record(a, SETT__SELECT, a->dtype, all, (const uint32_t[]){cond, id, a->fill}, 3);
}

static void guarded(access *a, uint32_t first, uint32_t n, uint32_t guard, bool mixed)
{
    uint32_t id;
    if (!gives(a)) {
        if (guard != SETT__FALSE)
            touch(a, first, n, guard);
        return;
    }
    if (guard == SETT__FALSE)
        id = sett__splat(a->c->b, a->c->site, a->fill, results(a, first, n));
    else
        id = spread(a, first, n, touch(a, first, n, guard));
    keep(a, first, mixed && guard != SETT__FALSE ? choice(a, first, n, id) : id);
}

/* Holds the predicate of all results of n spots? */
static uint32_t guard_of(const access *a, uint32_t first, uint32_t n, bool stay)
{
    return sett__guard_all(a->c, &a->x.guard, kinds(a, first), results(a, first, n), stay);
}

/* An access under what it needs: that the predicate of one of its results holds. */
static void record_part(access *a, uint32_t first, uint32_t n, bool stay)
{
    if (sett__cut_alike(&a->x, first, n))
        guarded(a, first, n, guard_of(a, first, n, stay), false);
    else
        guarded(a, first, n, sett__guard_any(a->c, &a->x.guard, kinds(a, first), results(a, first, 1), stay), true);
}

/* (base + imm) & (n - 1) == 0, with imm on the other side: accesses share the AND. */
static uint32_t aligned(const access *a, uint32_t first, uint32_t n)
{
    if (sett__cut_align(&a->x, 0, first) >= n * a->x.bytes)
        return SETT__TRUE;
    const sett_val *base = sett__cut_base(&a->x, 0, first).u.v;
    sett_dtype dtype = (sett_dtype)base->dtype;
    uint32_t mask = sett__const_bits(a->c->b, a->c->site, dtype, n - 1)->id;
    uint32_t at = record(a, SETT__AND, dtype, 1, (const uint32_t[]){base->id, mask}, 2);
    uint32_t want = sett__const_bits(a->c->b, a->c->site, dtype, (uint64_t)-a->x.spot[first].imm & (n - 1))->id;
    return record(a, SETT__EQ, SETT_BOOL, 1, (const uint32_t[]){at, want}, 2);
}

/* All inside and aligned. */
static uint32_t wide_test(const access *a, const sett__piece *p)
{
    return sett__and(a->c, guard_of(a, p->first, p->n, false), aligned(a, p->first, p->n), false);
}

/* The tests of the narrow arm stay in it: they cost nothing where all is inside. */
static void narrow(access *a, const sett__piece *p)
{
    for (uint32_t i = 0; i < p->n; i += p->narrow)
        record_part(a, p->first + i, p->narrow, true);
}

typedef struct span {
    access *a;
    const sett__piece *first, *end;
    void (*otherwise)(access *, const sett__piece *first, const sett__piece *end);
} span;

static void arm(void *user, bool holds)
{
    const span *s = user;
    for (const sett__piece *p = s->first; holds && p < s->end; p++)
        if (p->test)
            guarded(s->a, p->first, p->n, SETT__TRUE, false);
    if (!holds)
        s->otherwise(s->a, s->first, s->end);
}

static void narrow_arm(access *a, const sett__piece *p, const sett__piece *end)
{
    for (; p < end; p++)
        narrow(a, p);
}

static void each_arm(access *a, const sett__piece *p, const sett__piece *end)
{
    for (; p < end; p++)
        if (p->test)
            sett__cut_branch(&a->x, wide_test(a, p), arm, &(span){a, p, p + 1, narrow_arm});
}

/* Where the shared test failed: one place needs no test of its own. */
static void rest_arm(access *a, const sett__piece *p, const sett__piece *end)
{
    for (; p < end; p++)
        if (p->test && p->n == 1)
            narrow(a, p);
        else
            each_arm(a, p, p + 1);
}

/* The accesses that need a test share one, for blocks inside: their loads then follow one
 * another without a branch between. Where it fails, each has its own. */
static void record_pieces(access *a)
{
    const sett__piece *p = a->x.piece, *end = p + a->x.n_piece;
    uint32_t all = SETT__TRUE;
    for (; p < end && !a->c->b->error.status; p++)
        if (!p->test)
            record_part(a, p->first, p->n, false);
        else if (a->x.note.split <= SHARED)
            all = sett__and(a->c, all, wide_test(a, p), false);
    if (!a->x.note.split || a->c->b->error.status)
        return;
    if (a->x.note.split > 1 && a->x.note.split <= SHARED)
        sett__cut_branch(&a->x, all, arm, &(span){a, a->x.piece, end, rest_arm});
    else
        each_arm(a, a->x.piece, end);
}

static uint32_t gather(access *a)
{
    sett_build *b = a->c->b;
    SETT__FAIL_IF(b, a->c->site, a->c->func, a->x.n_piece > UINT16_MAX && !a->x.note.split, 0, SETT_E_LIMIT,
        "%s takes %u accesses: %u at most give one value", sett__tensor_text(b, a->t), a->x.n_piece, (unsigned)UINT16_MAX);
    uint32_t *parts = sett__new(b, a->x.n_piece * sizeof *parts), id;
    if (!parts)
        return 0;
    uint32_t all = a->x.first[a->x.n];
    a->part = parts;
    a->tmp = SETT__NONE;
    if (a->x.note.split)
        a->tmp = record(a, SETT__RMEM, a->dtype, all, NULL, 0);
    record_pieces(a);
    if (b->error.status)
        return 0;
    if (a->tmp != SETT__NONE)
        id = sett__record(b, a->c->site,
            &(sett__emit){.code = SETT__LOAD,
                .dtype = a->dtype,
                .n = all,
                .sub = 5,
                .n_args = 4,
                .args = (const uint32_t[]){a->tmp, SETT__NONE, SETT__NONE, SETT__NONE}});
    else
        id = a->x.n_piece == 1 ? parts[0] : record(a, SETT__PACK, a->dtype, all, parts, (int)a->x.n_piece);
    bool straight = all == a->p->n;
    for (uint32_t i = 0; i < a->p->n; i++)
        straight = straight && a->slot[i] == i;
    return straight ? id : sett__pick(b, a->c->site, id, a->slot, a->p->n);
}

/* ---- registers under a predicate: no memory can be missed, so a select does --------------------- */
static uint32_t select_rmem(const access *a)
{
    sett_build *b = a->c->b;
    sett__move plain = *a->m;
    plain.pred = plain.val = NULL;
    uint32_t old = sett__access(a->c, &plain), cond = a->x.guard.op, n = a->p->n;
    if (b->error.status)
        return 0;
    if (b->op[cond].n > 1)
        cond = sett__pick(b, a->c->site, cond, a->x.guard.map, n);
    uint32_t id = is_load(a) ? record(a, SETT__SELECT, a->dtype, n, (const uint32_t[]){cond, old, a->fill}, 3)
                             : record(a, SETT__SELECT, a->dtype, n, (const uint32_t[]){cond, a->m->val->id, old}, 3);
    if (is_load(a) || b->error.status)
        return id;
    plain.val = sett__val(b, id, a->t->layout->shape, n == 1 && a->m->val->scalar);
    return sett__access(a->c, &plain);
}

/* ---- the whole ------------------------------------------------------------------------------------- */
bool sett__reached(const sett__ctx *c, const sett_tensor *t, bool written)
{
    bool by_value = t->space == SETT_GENERIC && t->param >= 0;
    SETT__FAIL_IF(c->b, c->site, c->func, by_value && written, false, SETT_E_SPACE, "%s is passed by value: it is only read",
        sett__tensor_text(c->b, t));
    SETT__FAIL_IF(c->b, c->site, c->func, t->mbarrier, false, SETT_E_SPACE,
        "%s are mbarriers: only calls of pipeline.h read and write them", sett__tensor_text(c->b, t));
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != SETT_GMEM && t->space != SETT_SMEM && t->space != SETT_RMEM && t->space != SETT_DSMEM && !by_value,
        false, SETT_E_SPACE, "%s lies where loads and stores do not reach", sett__tensor_text(c->b, t));
    return true;
}

static bool take_tensor(access *a)
{
    sett_build *b = a->c->b;
    const sett_tensor *t = a->t = a->x.side[0].t = a->m->t;
    SETT__FAIL_IF(b, a->c->site, a->c->func, t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s has no elements in memory%s", sett__layout_text(b, t->layout),
        is_load(a) ? ": sett_coord_value gives a mode of its coordinates as a value" : "");
    if (!sett__reached(a->c, t, !is_load(a)))
        return false;
    a->dtype = a->m->bytes ? SETT_U8 : (sett_dtype)t->dtype;
    a->x.bytes = (uint32_t)sett__dtype_bytes(a->dtype);
    a->x.widest = widest(a);
    return true;
}

/* The fill must be a number of the type; C numbers come here as a double. */
static bool take_fill(access *a)
{
    double f = a->m->fill;
    if (!gives(a) || !a->m->pred)
        return true;
    bool whole = f >= -9e18 && f <= 9e18 && (double)(int64_t)f == f;
    sett_arg number = whole && !sett__dtype_is_float(a->dtype) ? sett_arg_i((int64_t)f) : sett_arg_f(f);
    a->fill = sett__number(a->c->b, a->c->site, a->c->func, number, a->dtype)->id;
    return !a->c->b->error.status;
}

uint32_t sett__access(const sett__ctx *c, const sett__move *m)
{
    access *a = sett__new(c->b, sizeof *a);
    if (!a || c->b->error.status)
        return 0;
    a->x.c = *c;
    a->c = c;
    a->p = &a->x.side[0].p;
    a->m = m;
    a->fill = SETT__NONE;
    if (!take_tensor(a) || (!m->bytes && !sett__tensor_places(c, a->t, a->p)))
        return 0;
    if (a->t->share && !m->pred)
        sett__share_access(c, a->t->share);
    if (m->bytes)
        *a->p = *m->bytes;
    else if (sett__is_packed(a->t))
        return sett__packed_access(c, m, a->p);
    if (!take_pred(a) || !take_fill(a))
        return 0;
    if (c->b->tests && !m->atomic && (!m->pred || m->pred->n == 1))
        sett__test_inside(c, a->t->fixed, m->pred);
    bool fixed = a->p->n_group == 1 && a->p->base[0].kind == SETT_INT;
    if (m->pred && a->t->space == SETT_RMEM && fixed)
        return select_rmem(a);
    if (!take_spots(a) || !sett__cut_plan(&a->x))
        return 0;
    a->x.note.t = a->t;
    a->x.note.bytes = (uint8_t)a->x.bytes;
    a->x.note.places = is_load(a) && a->x.n < a->p->n ? a->x.n : 0;
    a->x.note.elements = a->p->n;
    if (a->t->space == SETT_RMEM)
        a->x.note.lost = fixed ? SETT__LOST_NOTHING : SETT__LOST_RMEM;
    if (a->t->space != SETT_RMEM || !fixed)
        sett__note_add(c, &a->x.note);
    if (gives(a))
        return gather(a);
    record_pieces(a);
    return 0;
}
