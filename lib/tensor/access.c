/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and storing whole views.
 *
 * The elements, in order of place, fall into runs of adjacent ones; a run is cut into
 * accesses as wide as the proven alignment allows, up to 16 bytes. Under a predicate that
 * knows its coordinates an access of several elements is
 *     one test and one wide access, if they are all inside or all outside; else
 *     if (all inside and aligned) one wide access, else a guarded narrow one for each part,
 * with one branch around the wide ones of all accesses, which is the one that full blocks take.
 * Elements that lie in one place, by a stride of 0, are loaded once: where their predicates differ, if one of them holds,
 * and those whose own does not are given the fill.
 * What is loaded in a region reaches the code after it through an rmem temporary. */
#include "tensor.h"
#include <string.h>

#define WIDEST 16     /* bytes of one access */
#define WORTH 8       /* bytes of one access that need no branch to be made wider */
#define SHARED 16u    /* accesses under one shared test */

typedef struct piece {
    uint32_t first, n, narrow; /* spots */
    bool test;                 /* all of them at once, under no predicate, if a test allows */
} piece;
typedef struct access {
    sett__ctx c;
    const sett__move *m;
    const sett_tensor *t;
    sett_dtype dtype;
    uint32_t bytes; /* of an element */
    sett__places p;
    sett__spot *spot;
    uint32_t n;      /* spots: elements, less those that lie in one place */
    uint32_t *first; /* results of spot i: from first[i] to below first[i + 1]. A load has one for each predicate of a place */
    uint32_t *kind;  /* of a result: the element of the predicate */
    uint32_t *slot;  /* loads: element to result */
    const struct sett__pred *less;
    uint32_t pred; /* op of another predicate, SETT__TRUE: none */
    uint32_t *map; /* element to element of the predicate */
    piece *piece;
    uint32_t n_piece;
    uint32_t fill, tmp, *part;
    sett__note note;
} access;

static bool is_load(const access *a)
{
    return !a->m->val;
}

static bool gives(const access *a) /* a value of the tensor's shape */
{
    return is_load(a) || a->m->atomic;
}

/* ---- which part of a predicate an element looks at -------------------------------------- */
/* The modes of `to` with their steps through `from`, which broadcasts to it; false: it does not. *at counts the
 * elements of from that were passed. */
typedef struct walk {
    uint32_t extent[256], step[256], at;
    int n;
} walk;

static bool map_modes(sett_arg to, sett_arg from, walk *w)
{
    bool one = from.kind == SETT_INT && from.u.i == 1;
    if (to.kind == SETT_NODE && (from.kind == SETT_NODE || one)) {
        if (from.kind == SETT_NODE && from.rank > to.rank)
            return false;
        for (int i = 0; i < to.rank; i++)
            if (!map_modes(to.u.kid[i], from.kind == SETT_NODE && i < from.rank ? from.u.kid[i] : sett_arg_i(1), w))
                return false;
        return true;
    }
    if (to.kind != SETT_INT || from.kind != SETT_INT || (!one && from.u.i != to.u.i) || w->n == SETT__COUNT(w->step))
        return false;
    w->extent[w->n] = (uint32_t)to.u.i;
    w->step[w->n++] = one ? 0 : w->at;
    w->at *= (uint32_t)from.u.i;
    return true;
}

bool sett__same_elements(sett_arg x, sett_arg y)
{
    sett_arg a[256], b[256];
    int n = sett__leaves(x);
    if (n > 256 || sett__leaves(y) != n)
        return false;
    sett__flat(x, a);
    sett__flat(y, b);
    for (int i = 0; i < n; i++)
        if (a[i].kind != SETT_INT || b[i].kind != SETT_INT || a[i].u.i != b[i].u.i)
            return false;
    return true;
}

uint32_t *sett__pred_map(const sett__ctx *c, uint32_t n, sett_arg shape, const sett_val *pred)
{
    uint32_t digit[256] = {0}, at = 0, *map = sett__new(c->b, n * sizeof *map);
    walk w = {.at = 1};
    if (!map || pred->n == 1)
        return map;
    bool fits = map_modes(shape, pred->shape, &w);
    if (!fits && pred->n == n) { /* another profile, or modes that coalesced only in one of the two layouts */
        w = (walk){.extent = {n}, .step = {1}, .n = 1};
        fits = true;
    }
    SETT__FAIL_IF(c->b, c->site, c->func, !fits, NULL, SETT_E_SHAPE, "a predicate of shape %s does not broadcast to %s",
        sett__arg_text(c->b, pred->shape), sett__arg_text(c->b, shape));
    for (uint32_t i = 0; i < n; i++) {
        map[i] = at;
        for (int k = 0; k < w.n; k++) {
            at += w.step[k];
            if (++digit[k] < w.extent[k])
                break;
            at -= w.step[k] * digit[k];
            digit[k] = 0;
        }
    }
    return map;
}

static bool take_pred(access *a)
{
    const sett_val *pred = a->m->pred;
    a->pred = SETT__TRUE;
    if (!pred)
        return true;
    SETT__FAIL_IF(a->c.b, a->c.site, a->c.func, pred->dtype != SETT_BOOL, false, SETT_E_DTYPE,
        "a predicate is Boolean, not %s", sett_dtype_name((sett_dtype)pred->dtype));
    uint32_t n = a->m->which ? a->m->elements : a->p.n;
    uint32_t *map = sett__pred_map(&a->c, n, a->m->shape ? *a->m->shape : a->t->layout->shape, pred);
    if (!map)
        return false;
    a->map = map;
    if (a->m->which) {
        a->map = sett__new(a->c.b, a->p.n * sizeof *a->map);
        for (uint32_t i = 0; a->map && i < a->p.n; i++)
            a->map[i] = map[a->m->which[i]];
    }
    if (pred->id == SETT__NONE && a->t->space != SETT_RMEM)
        a->less = pred->pred;
    else
        a->pred = sett__materialise(a->c.site, pred)->id;
    return !a->c.b->error.status;
}

/* ---- order -------------------------------------------------------------------------------- */
/* The result of the last spot under a predicate. known: of a predicate, the result that it was last found for, plus 1. */
static uint32_t result_of(access *a, uint32_t kind, uint32_t *known)
{
    uint32_t *end = &a->first[a->n];
    if (known[kind] <= a->first[a->n - 1]) {
        a->kind[*end] = kind;
        known[kind] = ++*end;
    }
    return known[kind] - 1;
}

/* Elements in one place: a load needs one of them, whatever their predicates; of a store the last stays of those that have
 * one predicate; atomics do all. */
static bool take_spots(access *a)
{
    sett_build *b = a->c.b;
    bool load = is_load(a);
    a->spot = sett__spots(&a->c, &a->p, load ? NULL : a->map);
    a->slot = sett__new(b, a->p.n * sizeof *a->slot);
    a->kind = sett__new(b, a->p.n * sizeof *a->kind);
    a->first = sett__new(b, (a->p.n + 1) * sizeof *a->first);
    uint32_t *known = sett__new(b, (a->map ? a->m->pred->n : 1) * sizeof *known);
    if (!a->spot || b->error.status)
        return false;
    for (uint32_t i = 0; i < a->p.n; i++) {
        sett__spot s = a->spot[i], *last = a->n ? &a->spot[a->n - 1] : NULL;
        bool same = last && !a->m->atomic && last->group == s.group && last->imm == s.imm && last->kind == s.kind;
        if (!same) {
            a->spot[a->n++] = s;
            a->first[a->n] = a->first[a->n - 1];
        } else if (!load) {
            *last = s;
        }
        a->slot[s.elem] = result_of(a, a->map ? a->map[s.elem] : 0, known);
    }
    return true;
}

static uint32_t results(const access *a, uint32_t first, uint32_t n) /* of n spots */
{
    return a->first[first + n] - a->first[first];
}

static const uint32_t *kinds(const access *a, uint32_t first)
{
    return a->kind + a->first[first];
}

static bool same_kinds(const access *a, uint32_t x, uint32_t y)
{
    uint32_t n = results(a, x, 1);
    return n == results(a, y, 1) && !memcmp(kinds(a, x), kinds(a, y), n * sizeof *a->kind);
}

/* Lazy predicates decide for several elements together; of others an access takes what its first spot does. */
static uint32_t run_at(const access *a, uint32_t first)
{
    uint32_t n = 1;
    const sett__spot *s = a->spot + first;
    while (first + n < a->n && s[n].group == s->group && s[n].imm == s->imm + n && (a->less || same_kinds(a, first, first + n)))
        n++;
    return n;
}

/* ---- width --------------------------------------------------------------------------------- */
static sett_arg base_of(const access *a, uint32_t spot)
{
    return a->p.base[a->spot[spot].group];
}

static uint32_t align_of(const access *a, uint32_t spot)
{
    return sett__align_at(a->t, a->bytes, base_of(a, spot), a->spot[spot].imm);
}

/* Does one predicate decide for all results of n spots? */
static bool alike(const access *a, uint32_t first, uint32_t n)
{
    uint32_t all = results(a, first, n);
    if (!a->less)
        return results(a, first, 1) == 1;
    return all == 1 || sett__pred_alike(&a->c, a->less, kinds(a, first), all);
}

/* Of each part of n spots. */
static bool parts_alike(const access *a, uint32_t first, uint32_t n, uint32_t part)
{
    for (uint32_t i = 0; i < n; i += part)
        if (!alike(a, first + i, part))
            return false;
    return true;
}

void sett__note_lost(sett__note *note, const sett_tensor *t, sett_arg base, int64_t imm, uint32_t bytes, uint32_t have, uint32_t need)
{
    if (note->lost)
        return;
    note->lost = t->align < need * bytes                                                        ? SETT__LOST_ROOT
                 : base.kind == SETT_VALUE && (uint64_t)sett__leaf_div(base) % need               ? SETT__LOST_BASE
                 : (uint64_t)imm * bytes % (need * bytes)                                         ? SETT__LOST_CONSTANT
                                                                                                  : SETT__LOST_BASE;
    note->have = have * bytes;
    note->need = need * bytes;
    note->base = base;
    note->imm = imm;
}

static void lose(access *a, uint32_t spot, uint32_t have, uint32_t need, bool by_bound)
{
    bool first = !a->note.lost;
    sett__note_lost(&a->note, a->t, base_of(a, spot), a->spot[spot].imm, a->bytes, have, need);
    if (first && by_bound)
        a->note.lost = SETT__LOST_BOUND;
}

/* Bytes of one access. Of atomics only additions have instructions for several elements; in smem of pairs of 16 bits. */
static uint32_t widest(const access *a)
{
    bool halves = a->dtype == SETT_F16 || a->dtype == SETT_BF16;
    if (!a->m->atomic)
        return WIDEST;
    if (a->m->atomic != SETT__ADD || (!halves && a->dtype != SETT_F32))
        return a->bytes;
    return a->t->space == SETT_GMEM ? SETT__ATOM_WIDEST : 4;
}

/* The access that starts at a spot with `left` spots of its run to go. */
static piece choose(access *a, uint32_t first, uint32_t left)
{
    if (a->t->space == SETT_RMEM && base_of(a, first).kind == SETT_INT && a->pred == SETT__TRUE)
        return (piece){first, left, left, false}; /* registers: no address, no limit */
    uint32_t most = 1, proven = 1, hope, align = align_of(a, first);
    while (most * 2 <= left && most * 2 * a->bytes <= widest(a))
        most *= 2;
    while (proven * 2 <= most && proven * 2 * a->bytes <= align)
        proven *= 2;
    if (proven < most)
        lose(a, first, proven, most, false);
    if (!a->less)
        return (piece){first, proven, proven, false};
    uint32_t sure = proven;
    while (sure > 1 && !alike(a, first, sure))
        sure /= 2;
    if ((sure == most && alike(a, first, sure)) || (sure > 1 && sure * a->bytes >= WORTH))
        return (piece){first, sure, sure, false};
    hope = sett__width_hope(a->t, a->bytes, base_of(a, first), a->spot[first].imm, most);
    if (hope < proven)
        hope = proven;
    if (hope > sure && proven >= hope)
        lose(a, first, sure, hope, true);
    if (hope < sure)
        hope = sure;
    while (sure > 1 && !parts_alike(a, first, hope, sure)) /* one that straddles two rows has two tests */
        sure /= 2;
    return (piece){first, hope, sure, sure < hope || !alike(a, first, 1)};
}

/* Is it only the predicate that parts adjacent elements? */
static bool parted_by_pred(const access *a)
{
    for (uint32_t i = 0; i + 1 < a->n; i++) {
        const sett__spot *s = a->spot + i;
        if (s[1].group == s->group && s[1].imm == s->imm + 1 && !same_kinds(a, i, i + 1))
            return true;
    }
    return false;
}

static bool plan(access *a)
{
    uint32_t longest = 0;
    a->piece = sett__new(a->c.b, a->n * sizeof *a->piece);
    if (!a->piece)
        return false;
    for (uint32_t at = 0; at < a->n;) {
        uint32_t end = at + run_at(a, at);
        longest = end - at > longest ? end - at : longest;
        while (at < end) {
            piece p = choose(a, at, end - at);
            a->piece[a->n_piece++] = p;
            a->note.split += p.test;
            a->note.count[31 - __builtin_clz(p.n * a->bytes)]++;
            at += p.n;
        }
    }
    if (longest * a->bytes < widest(a) && longest < a->n && !a->note.lost) {
        a->note.lost = !a->less && parted_by_pred(a) ? SETT__LOST_PRED : SETT__LOST_ADJACENCY;
        a->note.have = longest * a->bytes;
    }
    return true;
}

/* ---- recording ------------------------------------------------------------------------------- */
static uint32_t record(const access *a, sett__code code, sett_dtype dtype, uint32_t n, const uint32_t *args, int n_args)
{
    return sett__record(
        a->c.b, a->c.site, &(sett__emit){.code = code, .dtype = dtype, .n = n, .n_args = n_args, .args = args});
}

static uint32_t boolean(uint32_t op) /* of a guard: no operand if it is known to hold */
{
    return op == SETT__TRUE ? SETT__NONE : op;
}

/* The part of a value that n spots take. */
static uint32_t chunk(const access *a, const sett_val *val, uint32_t first, uint32_t n)
{
    uint32_t small[16], *idx = n <= SETT__COUNT(small) ? small : sett__new(a->c.b, n * sizeof *idx);
    bool whole = n == val->n;
    if (val->n == 1)
        return n == 1 ? val->id : sett__splat(a->c.b, a->c.site, val->id, n);
    for (uint32_t i = 0; idx && i < n; i++) {
        idx[i] = a->spot[first + i].elem;
        whole = whole && idx[i] == i;
    }
    return whole ? val->id : idx ? sett__pick(a->c.b, a->c.site, val->id, idx, n) : 0;
}

/* LOAD, STORE or ATOM of n spots under a guard that is not SETT__FALSE. */
static uint32_t touch(const access *a, uint32_t first, uint32_t n, uint32_t guard)
{
    sett_arg base = base_of(a, first);
    uint32_t align = align_of(a, first);
    if (a->t->space != SETT_RMEM && align < n * a->bytes)
        align = n * a->bytes; /* tested at run time */
    uint32_t pred = boolean(guard), fill = pred == SETT__NONE ? SETT__NONE : a->fill;
    uint32_t args[5] = {a->t->root, base.kind == SETT_VALUE ? base.u.v->id : SETT__NONE, pred, fill};
    if (!sett__inside(&a->c, a->t, base, a->spot[first].imm, n, a->bytes))
        return 0;
    sett__emit e = {.code = SETT__LOAD, .dtype = a->dtype, .n = n, .imm = a->spot[first].imm, .n_args = 4, .args = args,
        .sub = (uint8_t)__builtin_ctz(align), .flags = (uint8_t)(a->m->cache << SETT__F_CACHE_AT)};
    if (!is_load(a)) {
        e.code = SETT__STORE, e.dtype = (sett_dtype)0, e.n = 0;
        args[3] = chunk(a, a->m->val, first, n);
    }
    if (a->m->atomic) {
        e.code = SETT__ATOM, e.dtype = a->dtype, e.n = n, e.sub = a->m->atomic, e.flags = a->m->flags;
        args[4] = a->m->was ? chunk(a, a->m->was, first, n) : SETT__NONE;
        e.n_args = a->m->was ? 5 : 4;
    }
    return sett__record(a->c.b, a->c.site, &e);
}

static void keep(access *a, uint32_t first, uint32_t id)
{
    uint32_t at = a->first[first];
    if (a->tmp == SETT__NONE) {
        *a->part++ = id;
        return;
    }
    const uint32_t args[4] = {a->tmp, SETT__NONE, SETT__NONE, id};
    sett__record(a->c.b, a->c.site,
        &(sett__emit){.code = SETT__STORE,
            .imm = at,
            .n_args = 4,
            .args = args,
            .sub = (uint8_t)__builtin_ctz(at * a->bytes | 32)});
}

/* The results of n spots, of which one each was loaded. */
static uint32_t spread(const access *a, uint32_t first, uint32_t n, uint32_t id)
{
    uint32_t all = results(a, first, n), at = 0, *index = all == n ? NULL : sett__new(a->c.b, all * sizeof *index);
    if (!index)
        return id;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = results(a, first + i, 1); k; k--)
            index[at++] = i;
    return sett__pick(a->c.b, a->c.site, id, index, all);
}

/* Whether one result's predicate holds. */
static uint32_t test_of(const access *a, uint32_t kind, bool stay)
{
    if (a->less)
        return sett__pred_all(&a->c, a->less, &kind, 1, stay);
    return a->pred == SETT__TRUE || a->c.b->op[a->pred].n == 1 ? a->pred : sett__pick(a->c.b, a->c.site, a->pred, &kind, 1);
}

/* What was loaded since one of the results' predicates holds: the fill where theirs do not. */
static uint32_t choice(const access *a, uint32_t first, uint32_t n, uint32_t id)
{
    uint32_t all = results(a, first, n), *test = sett__new(a->c.b, all * sizeof *test);
    for (uint32_t i = 0; test && i < all; i++) {
        test[i] = test_of(a, kinds(a, first)[i], true);
        if (test[i] == SETT__TRUE || test[i] == SETT__FALSE)
            test[i] = sett__const_bits(a->c.b, a->c.site, SETT_BOOL, test[i] == SETT__TRUE)->id;
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
        id = sett__splat(a->c.b, a->c.site, a->fill, results(a, first, n));
    else
        id = spread(a, first, n, touch(a, first, n, guard));
    keep(a, first, mixed && guard != SETT__FALSE ? choice(a, first, n, id) : id);
}

/* Holds the predicate of all results of n spots? */
static uint32_t guard_of(const access *a, uint32_t first, uint32_t n, bool stay)
{
    if (a->less)
        return sett__pred_all(&a->c, a->less, kinds(a, first), results(a, first, n), stay);
    return test_of(a, *kinds(a, first), stay);
}

/* An access under what it needs: that the predicate of one of its results holds. */
static void record_part(access *a, uint32_t first, uint32_t n, bool stay)
{
    if (alike(a, first, n)) {
        guarded(a, first, n, guard_of(a, first, n, stay), false);
        return;
    }
    uint32_t all = results(a, first, 1), any = SETT__FALSE;
    if (a->less)
        any = sett__pred_any(&a->c, a->less, kinds(a, first), all, stay);
    else
        for (uint32_t i = 0; i < all; i++)
            any = sett__or(&a->c, any, test_of(a, kinds(a, first)[i], stay), stay);
    guarded(a, first, n, any, true);
}

/* (base + imm) & (n - 1) == 0, with imm on the other side: accesses share the AND. */
static uint32_t aligned(const access *a, uint32_t first, uint32_t n)
{
    if (align_of(a, first) >= n * a->bytes)
        return SETT__TRUE;
    const sett_val *base = base_of(a, first).u.v;
    sett_dtype dtype = (sett_dtype)base->dtype;
    uint32_t mask = sett__const_bits(a->c.b, a->c.site, dtype, n - 1)->id;
    uint32_t at = record(a, SETT__AND, dtype, 1, (const uint32_t[]){base->id, mask}, 2);
    uint32_t want = sett__const_bits(a->c.b, a->c.site, dtype, (uint64_t)-a->spot[first].imm & (n - 1))->id;
    return record(a, SETT__EQ, SETT_BOOL, 1, (const uint32_t[]){at, want}, 2);
}

/* All inside and aligned. */
static uint32_t wide_test(const access *a, const piece *p)
{
    return sett__and(&a->c, guard_of(a, p->first, p->n, false), aligned(a, p->first, p->n), false);
}

/* The tests of the narrow arm stay in it: they cost nothing where all is inside. */
static void narrow(access *a, const piece *p)
{
    for (uint32_t i = 0; i < p->n; i += p->narrow)
        record_part(a, p->first + i, p->narrow, true);
}

typedef void (*arm)(access *, const piece *first, const piece *end);

static void branch(access *a, uint32_t cond, arm then, arm otherwise, const piece *p, const piece *end)
{
    sett_build *b = a->c.b;
    if (cond == SETT__TRUE || cond == SETT__FALSE) {
        (cond == SETT__TRUE ? then : otherwise)(a, p, end);
        return;
    }
    if (b->error.status)
        return;
    sett_region r = sett_if_begin(a->c.site, b, sett__scalar_val(b, cond));
    then(a, p, end);
    r.done = true;
    sett_region_end(&r);
    r = sett_else_begin(a->c.site, b);
    otherwise(a, p, end);
    r.done = true;
    sett_region_end(&r);
}

static void wide_arm(access *a, const piece *p, const piece *end)
{
    for (; p < end; p++)
        if (p->test)
            guarded(a, p->first, p->n, SETT__TRUE, false);
}

static void narrow_arm(access *a, const piece *p, const piece *end)
{
    for (; p < end; p++)
        narrow(a, p);
}

static void each_arm(access *a, const piece *p, const piece *end)
{
    for (; p < end; p++)
        if (p->test)
            branch(a, wide_test(a, p), wide_arm, narrow_arm, p, p + 1);
}

/* Where the shared test failed: one place needs no test of its own. */
static void rest_arm(access *a, const piece *p, const piece *end)
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
    const piece *p = a->piece, *end = p + a->n_piece;
    uint32_t all = SETT__TRUE;
    for (; p < end && !a->c.b->error.status; p++)
        if (!p->test)
            record_part(a, p->first, p->n, false);
        else if (a->note.split <= SHARED)
            all = sett__and(&a->c, all, wide_test(a, p), false);
    if (!a->note.split || a->c.b->error.status)
        return;
    if (a->note.split > 1 && a->note.split <= SHARED)
        branch(a, all, wide_arm, rest_arm, a->piece, end);
    else
        each_arm(a, a->piece, end);
}

static uint32_t gather(access *a)
{
    sett_build *b = a->c.b;
    SETT__FAIL_IF(b, a->c.site, a->c.func, a->n_piece > UINT16_MAX && !a->note.split, 0, SETT_E_LIMIT,
        "%s takes %u accesses: %u at most give one value", sett__tensor_text(b, a->t), a->n_piece, (unsigned)UINT16_MAX);
    uint32_t *parts = sett__new(b, a->n_piece * sizeof *parts), id;
    if (!parts)
        return 0;
    uint32_t all = a->first[a->n];
    a->part = parts;
    a->tmp = SETT__NONE;
    if (a->note.split)
        a->tmp = record(a, SETT__RMEM, a->dtype, all, NULL, 0);
    record_pieces(a);
    if (b->error.status)
        return 0;
    if (a->tmp != SETT__NONE)
        id = sett__record(b, a->c.site,
            &(sett__emit){.code = SETT__LOAD,
                .dtype = a->dtype,
                .n = all,
                .sub = 5,
                .n_args = 4,
                .args = (const uint32_t[]){a->tmp, SETT__NONE, SETT__NONE, SETT__NONE}});
    else
        id = a->n_piece == 1 ? parts[0] : record(a, SETT__PACK, a->dtype, all, parts, (int)a->n_piece);
    bool straight = all == a->p.n;
    for (uint32_t i = 0; i < a->p.n; i++)
        straight = straight && a->slot[i] == i;
    return straight ? id : sett__pick(b, a->c.site, id, a->slot, a->p.n);
}

/* ---- registers under a predicate: no memory can be missed, so a select does --------------------- */
static uint32_t select_rmem(const access *a)
{
    sett_build *b = a->c.b;
    sett__move plain = *a->m;
    plain.pred = plain.val = NULL;
    uint32_t old = sett__access(&a->c, &plain), cond = a->pred, n = a->p.n;
    if (b->error.status)
        return 0;
    if (b->op[cond].n > 1)
        cond = sett__pick(b, a->c.site, cond, a->map, n);
    uint32_t id = is_load(a) ? record(a, SETT__SELECT, a->dtype, n, (const uint32_t[]){cond, old, a->fill}, 3)
                             : record(a, SETT__SELECT, a->dtype, n, (const uint32_t[]){cond, a->m->val->id, old}, 3);
    if (is_load(a) || b->error.status)
        return id;
    plain.val = sett__val(b, id, a->t->layout->shape, n == 1 && a->m->val->scalar);
    return sett__access(&a->c, &plain);
}

/* ---- the whole ------------------------------------------------------------------------------------- */
bool sett__reached(const sett__ctx *c, const sett_tensor *t, bool written)
{
    bool by_value = t->space == SETT_GENERIC && t->param >= 0;
    SETT__FAIL_IF(c->b, c->site, c->func, by_value && written, false, SETT_E_SPACE, "%s is passed by value: it is only read",
        sett__tensor_text(c->b, t));
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != SETT_GMEM && t->space != SETT_SMEM && t->space != SETT_RMEM && !by_value,
        false, SETT_E_SPACE, "%s lies where loads and stores do not reach", sett__tensor_text(c->b, t));
    return true;
}

static bool take_tensor(access *a)
{
    sett_build *b = a->c.b;
    const sett_tensor *t = a->t = a->m->t;
    SETT__FAIL_IF(b, a->c.site, a->c.func, t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s has no elements in memory", sett__layout_text(b, t->layout));
    if (!sett__reached(&a->c, t, !is_load(a)))
        return false;
    a->dtype = a->m->bytes ? SETT_U8 : (sett_dtype)t->dtype;
    a->bytes = (uint32_t)sett__dtype_bytes(a->dtype);
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
    a->fill = sett__number(a->c.b, a->c.site, a->c.func, number, a->dtype)->id;
    return !a->c.b->error.status;
}

uint32_t sett__access(const sett__ctx *c, const sett__move *m)
{
    access *a = sett__new(c->b, sizeof *a);
    if (!a || c->b->error.status)
        return 0;
    a->c = *c;
    a->m = m;
    a->fill = SETT__NONE;
    if (!take_tensor(a) || (!m->bytes && !sett__tensor_places(c, a->t, &a->p)))
        return 0;
    if (m->bytes)
        a->p = *m->bytes;
    else if (sett__is_packed(a->t))
        return sett__packed_access(c, m, &a->p);
    if (!take_pred(a) || !take_fill(a))
        return 0;
    bool fixed = a->p.n_group == 1 && a->p.base[0].kind == SETT_INT;
    if (m->pred && a->t->space == SETT_RMEM && fixed)
        return select_rmem(a);
    if (!take_spots(a) || !plan(a))
        return 0;
    a->note.t = a->t;
    a->note.bytes = (uint8_t)a->bytes;
    a->note.places = is_load(a) && a->n < a->p.n ? a->n : 0;
    a->note.elements = a->p.n;
    if (a->t->space == SETT_RMEM)
        a->note.lost = fixed ? SETT__LOST_NOTHING : SETT__LOST_RMEM;
    if (a->t->space != SETT_RMEM || !fixed)
        sett__note_add(c, &a->note);
    if (gives(a))
        return gather(a);
    record_pieces(a);
    return 0;
}
