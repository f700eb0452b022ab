/* SPDX-License-Identifier: Apache-2.0 */
/* Predicates that know their coordinates.
 *
 * sett_elem_less keeps, for each tested leaf of the bound, where every element's coordinate
 * lies: base + k, with k known. An element is inside if k < rem, where rem = bound - base is
 * computed once and shared by all elements, accesses and tensors; so a test is one comparison
 * with a constant, and what is inside of several elements is the test of their largest k.
 * sett_elem_at_least keeps -k, and rem = base - bound + 1: base + k >= bound if -k < rem.
 * sett_and keeps that: of two it has the leaves of both, and a scalar guards all elements. */
#include "value.h"
#include <string.h>

typedef struct bound {
    sett_arg bound;
    bool least;       /* at least bound: at.imm is negated */
    sett__places at; /* the coordinate of every element in this leaf */
    sett_arg *rem;   /* one a group; SLICE: not computed yet */
} bound;
struct sett__pred {
    int n;
    uint32_t size, guard; /* a Boolean op for all elements; SETT__TRUE, SETT__FALSE */
    sett_val *value;      /* once recorded */
    bound leaf[];
};

sett_arg sett__as_signed(const sett__ctx *c, sett_arg a)
{
    if (a.kind == SETT_VALUE && sett__dtype_kind((sett_dtype)a.u.v->dtype) == 'u')
        a.u.v = sett_to_at(c->site, a.u.v, SETT_I64);
    return a;
}

/* ---- tests ---------------------------------------------------------------------------- */
static sett_arg rem_of(const sett__ctx *c, const bound *l, uint32_t group)
{
    if (l->rem[group].kind == SETT_SLICE) {
        sett_arg limit = sett__as_signed(c, l->bound), base = sett__as_signed(c, l->at.base[group]);
        l->rem[group] = l->least ? sett__add(c, sett__sub(c, base, limit), sett_arg_i(1)) : sett__sub(c, limit, base);
    }
    return l->rem[group];
}

/* k < rem as a Boolean op, or what is known of it. */
static uint32_t test_below(const sett__ctx *c, sett_arg rem, int64_t k, bool stay)
{
    if (rem.kind == SETT_INT)
        return k < rem.u.i ? SETT__TRUE : SETT__FALSE;
    if (rem.kind != SETT_VALUE)
        return SETT__FALSE; /* the build has failed */
    const sett_val *v = rem.u.v;
    if (k < v->lo || k >= v->hi)
        return k < v->lo ? SETT__TRUE : SETT__FALSE;
    sett_dtype dtype = (sett_dtype)v->dtype;
    sett_val *limit = sett__const_bits(c->b, c->site, dtype, sett__bits_of_int(dtype, k));
    const uint32_t args[2] = {v->id, limit->id};
    return sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__GT, .dtype = SETT_BOOL, .n = 1, .n_args = 2, .args = args, .stay = stay});
}

uint32_t sett__and(const sett__ctx *c, uint32_t x, uint32_t y, bool stay)
{
    if (x == SETT__TRUE || y == SETT__FALSE || x == y)
        return y;
    if (y == SETT__TRUE || x == SETT__FALSE)
        return x;
    uint32_t n = c->b->op[x].n > c->b->op[y].n ? c->b->op[x].n : c->b->op[y].n;
    const uint32_t args[2] = {x, y};
    return sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__AND, .dtype = SETT_BOOL, .n = n, .n_args = 2, .args = args, .stay = stay});
}

uint32_t sett__or(const sett__ctx *c, uint32_t x, uint32_t y, bool stay)
{
    if (x == SETT__FALSE || y == SETT__TRUE || x == y)
        return y;
    if (y == SETT__FALSE || x == SETT__TRUE)
        return x;
    const uint32_t args[2] = {x, y};
    return sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__OR, .dtype = SETT_BOOL, .n = 1, .n_args = 2, .args = args, .stay = stay});
}

/* The smallest and largest k of the elements that are in the group of elem[i]. */
static void span_of(const bound *l, const uint32_t *elem, uint32_t n, uint32_t i, int64_t *lo, int64_t *hi)
{
    uint32_t group = l->at.group[elem[i]];
    *lo = *hi = l->at.imm[elem[i]];
    for (uint32_t j = 0; j < n; j++) {
        int64_t k = l->at.imm[elem[j]];
        if (l->at.group[elem[j]] != group)
            continue;
        *lo = k < *lo ? k : *lo;
        *hi = k > *hi ? k : *hi;
    }
}

/* Does an earlier element stand for i's group? */
static bool group_seen(const bound *l, const uint32_t *elem, uint32_t i)
{
    uint32_t j = 0;
    while (j < i && l->at.group[elem[j]] != l->at.group[elem[i]])
        j++;
    return j < i;
}

/* With base + lo and the bound multiples of d > hi - lo, base + lo < bound implies base + hi < bound.
 * Only powers of two: they survive the wrapping of an outside coordinate. */
static bool leaf_alike(const sett__ctx *c, const bound *l, const uint32_t *elem, uint32_t n)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t lo, hi, d = 1;
        if (group_seen(l, elem, i))
            continue;
        span_of(l, elem, n, i, &lo, &hi);
        sett_arg rem = rem_of(c, l, l->at.group[elem[i]]);
        if (rem.kind == SETT_INT ? hi < rem.u.i : rem.kind == SETT_VALUE && hi < rem.u.v->lo)
            continue; /* always inside */
        while (d <= hi - lo)
            d *= 2;
        uint64_t known = (uint64_t)(l->least ? -hi : lo) | (uint64_t)sett__leaf_div(l->at.base[l->at.group[elem[i]]]) |
                         (uint64_t)sett__leaf_div(l->bound);
        if (groups++ || (known & (uint64_t)(d - 1)))
            return false;
    }
    return true;
}

bool sett__pred_alike(const sett__ctx *c, const struct sett__pred *p, const uint32_t *elem, uint32_t n)
{
    for (int i = 0; i < p->n; i++)
        if (!leaf_alike(c, &p->leaf[i], elem, n))
            return false;
    return true;
}

uint32_t sett__pred_all(const sett__ctx *c, const struct sett__pred *p, const uint32_t *elem, uint32_t n, bool stay)
{
    uint32_t all = SETT__TRUE;
    for (int k = 0; k < p->n; k++) {
        const bound *l = &p->leaf[k];
        for (uint32_t i = 0; i < n && all != SETT__FALSE; i++) {
            int64_t lo, hi;
            if (group_seen(l, elem, i))
                continue;
            span_of(l, elem, n, i, &lo, &hi);
            all = sett__and(c, all, test_below(c, rem_of(c, l, l->at.group[elem[i]]), hi, stay), stay);
        }
    }
    return sett__and(c, all, p->guard, stay);
}

/* Is element `of` inside wherever element i is? */
static bool implies(const struct sett__pred *p, uint32_t i, uint32_t of)
{
    for (int k = 0; k < p->n; k++) {
        const sett__places *at = &p->leaf[k].at;
        if (at->group[i] != at->group[of] || at->imm[i] < at->imm[of])
            return false;
    }
    return true;
}

/* Of a box of coordinates the lowest corner is inside if any is. */
uint32_t sett__pred_any(const sett__ctx *c, const struct sett__pred *p, const uint32_t *elem, uint32_t n, bool stay)
{
    uint32_t low = elem[0], any = SETT__FALSE;
    bool corner = true;
    for (uint32_t i = 1; i < n; i++)
        low = implies(p, low, elem[i]) ? elem[i] : low;
    for (uint32_t i = 0; i < n && corner; i++)
        corner = implies(p, elem[i], low);
    if (corner)
        return sett__pred_all(c, p, &low, 1, stay);
    for (uint32_t i = 0; i < n; i++)
        any = sett__or(c, any, sett__pred_all(c, p, &elem[i], 1, stay), stay);
    return any;
}

/* ---- making ------------------------------------------------------------------------------ */
/* The modes of the coordinate layout as they move one leaf: the others' strides are 0. */
bool sett__leaf_places(const sett__ctx *c, const sett__axes *m, uint32_t path, sett_arg origin, sett__places *at)
{
    sett__axes mine = *m;
    mine.mode = sett__new(c->b, (size_t)(m->n + 1) * sizeof *mine.mode);
    if (!mine.mode)
        return false;
    for (int i = 0; i < m->n; i++) {
        mine.mode[i] = m->mode[i];
        if (m->mode[i].stride.path != path)
            mine.mode[i].stride = sett_arg_i(0);
        mine.mode[i].stride.path = 0;
    }
    return sett__places_of(c, &mine, origin, at);
}

static bool bound_places(const sett__ctx *c, const sett__axes *m, uint32_t path, sett_arg origin, bound *l)
{
    if (!sett__leaf_places(c, m, path, origin, &l->at))
        return false;
    for (uint32_t i = 0; l->least && i < l->at.n; i++)
        l->at.imm[i] = -l->at.imm[i];
    l->rem = sett__new(c->b, l->at.n_group * sizeof *l->rem);
    for (uint32_t g = 0; l->rem && g < l->at.n_group; g++)
        l->rem[g] = SETT_ALL;
    return l->rem != NULL;
}

static bool is_integer(sett_arg a)
{
    return a.kind == SETT_INT ||
           (a.kind == SETT_VALUE && a.u.v->n == 1 && sett__dtype_is_int((sett_dtype)a.u.v->dtype));
}

static bool collect_bounds(const sett__ctx *c, const sett__axes *m, sett_arg limit, sett_arg origin, uint32_t path, int level,
    bool least, struct sett__pred *p)
{
    if (limit.kind == SETT_SLICE)
        return true;
    if (limit.kind != SETT_NODE && origin.kind != SETT_NODE) {
        SETT__FAIL_IF(c->b, c->site, c->func, !is_integer(limit), false, SETT_E_DTYPE, "a bound is no integer");
        p->leaf[p->n].bound = limit;
        p->leaf[p->n].least = least;
        return bound_places(c, m, path, origin, &p->leaf[p->n++]);
    }
    if (origin.kind != SETT_NODE && limit.rank == 1) /* (N) bounds a coordinate that is a number */
        return collect_bounds(c, m, limit.u.kid[0], origin, path, level, least, p);
    if (limit.kind != SETT_NODE && origin.rank == 1)
        return collect_bounds(c, m, limit, origin.u.kid[0], path | 1u << (4 * level), level + 1, least, p);
    SETT__FAIL_IF(c->b, c->site, c->func, limit.kind != origin.kind || limit.rank != origin.rank || level >= 8, false,
        SETT_E_RANK, "the bound %s does not fit coordinates like %s", sett__arg_text(c->b, limit),
        sett__arg_text(c->b, origin));
    for (int i = 0; i < limit.rank; i++)
        if (!collect_bounds(c, m, limit.u.kid[i], origin.u.kid[i], path | (uint32_t)(i + 1) << (4 * level), level + 1, least, p))
            return false;
    return true;
}

static sett_val *lazy_pred(sett_build *b, sett_arg shape, struct sett__pred *p)
{
    sett_val *v = sett__new_object(b, SETT__K_VAL, sizeof *v);
    v->id = SETT__NONE;
    v->n = p->size;
    v->dtype = SETT_BOOL;
    v->shape = shape;
    v->scalar = v->shape.kind == SETT_NODE && !v->shape.rank;
    sett__settle(v);
    v->div = v->hi = 1;
    v->pred = p;
    return b->error.status ? &b->poison->val : v;
}

/* ---- and ------------------------------------------------------------------------------------ */
static bool is_lazy(sett_arg a)
{
    return a.kind == SETT_VALUE && a.u.v->id == SETT__NONE && a.u.v->pred;
}

/* The op of a scalar Boolean, or what is known of it. */
static bool take_guard(const sett__ctx *c, sett_arg a, uint32_t *guard)
{
    uint64_t bits = (uint64_t)a.u.i;
    bool number = a.kind == SETT_INT && !a.path && (a.u.i == 0 || a.u.i == 1);
    if (!number && (a.kind != SETT_VALUE || !a.u.v->scalar || a.u.v->dtype != SETT_BOOL))
        return false;
    const sett_val *v = number ? NULL : sett__materialise(c->site, a.u.v);
    *guard = number || sett__val_const(v, &bits) ? bits ? SETT__TRUE : SETT__FALSE : v->id;
    return true;
}

sett_val *sett__pred_and(const sett__ctx *c, sett_arg x, sett_arg y)
{
    uint32_t guard = SETT__TRUE;
    if (!sett__use_arg(c->b, c->site, c->func, x) || !sett__use_arg(c->b, c->site, c->func, y))
        return &c->b->poison->val;
    if (!is_lazy(x) || (is_lazy(y) && x.u.v->scalar)) {
        sett_arg swap = x;
        x = y;
        y = swap;
    }
    if (!is_lazy(x))
        return NULL;
    const struct sett__pred *p = x.u.v->pred, *q = NULL;
    if (is_lazy(y) && sett__same_shape(x.u.v->shape, y.u.v->shape))
        q = y.u.v->pred;
    else if (!take_guard(c, y, &guard))
        return NULL;
    int n = p->n + (q ? q->n : 0);
    struct sett__pred *both = sett__new(c->b, sizeof *both + (size_t)n * sizeof *both->leaf);
    if (!both || c->b->error.status)
        return &c->b->poison->val;
    both->n = n;
    both->size = p->size;
    both->guard = sett__and(c, p->guard, q ? q->guard : guard, false);
    memcpy(both->leaf, p->leaf, (size_t)p->n * sizeof *p->leaf);
    if (q)
        memcpy(both->leaf + p->n, q->leaf, (size_t)q->n * sizeof *q->leaf);
    return lazy_pred(c->b, x.u.v->shape, both);
}

/* ---- as a value ------------------------------------------------------------------------------ */
uint32_t sett__pack(const sett__ctx *c, sett_dtype dtype, const uint32_t *id, uint32_t n)
{
    if (n == 1)
        return id[0];
    return sett__record(
        c->b, c->site, &(sett__emit){.code = SETT__PACK, .dtype = dtype, .n = n, .n_args = (int)n, .args = id});
}

static uint32_t constant(const sett__ctx *c, sett_dtype dtype, int64_t k)
{
    return sett__const_bits(c->b, c->site, dtype, sett__bits_of_int(dtype, k))->id;
}

/* One leaf's test of all elements: a splat, one comparison with a constant vector, or packed
 * comparisons. The width is 1 or n. */
static uint32_t leaf_value(const sett__ctx *c, const bound *l, uint32_t n, uint32_t *id)
{
    sett_arg rem = rem_of(c, l, l->at.group[0]);
    bool splat = true, narrow = true;
    for (uint32_t i = 0; i < n; i++) {
        splat = splat && l->at.group[i] == l->at.group[0] && l->at.imm[i] == l->at.imm[0];
        narrow = narrow && l->at.imm[i] == (int32_t)l->at.imm[i];
    }
    if (splat)
        return test_below(c, rem, l->at.imm[0], false);
    if (l->at.n_group > 1 || rem.kind != SETT_VALUE || !narrow) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t x = test_below(c, rem_of(c, l, l->at.group[i]), l->at.imm[i], false);
            id[i] = x == SETT__TRUE || x == SETT__FALSE ? constant(c, SETT_BOOL, x == SETT__TRUE) : x;
        }
        return sett__pack(c, SETT_BOOL, id, n);
    }
    for (uint32_t i = 0; i < n; i++)
        id[i] = constant(c, (sett_dtype)rem.u.v->dtype, l->at.imm[i]);
    const uint32_t args[2] = {rem.u.v->id, sett__pack(c, (sett_dtype)rem.u.v->dtype, id, n)};
    return sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__GT, .dtype = SETT_BOOL, .n = n, .n_args = 2, .args = args});
}

const sett_val *sett__materialise(sett_site site, const sett_val *v)
{
    if (!v || v->head.poison || v->id != SETT__NONE || !v->pred)
        return v;
    sett_build *b = v->head.b;
    const sett__ctx c = {b, site, "sett_elem_less"};
    struct sett__pred *p = v->pred;
    if (p->value && sett__visible(p->value))
        return p->value;
    uint32_t n = v->n, all = SETT__TRUE, *id = sett__new(b, n * sizeof *id);
    for (int i = 0; id && i < p->n; i++)
        all = sett__and(&c, all, leaf_value(&c, &p->leaf[i], n, id), false);
    all = sett__and(&c, all, p->guard, false);
    if (all == SETT__TRUE || all == SETT__FALSE)
        all = constant(&c, SETT_BOOL, all == SETT__TRUE);
    if (!id || b->error.status)
        return &b->poison->val;
    if (b->op[all].n < n) /* the same for all elements; id is all zero again */
        all = sett__pick(b, site, all, memset(id, 0, n * sizeof *id), n);
    return p->value = sett__val(b, all, v->shape, v->scalar);
}

sett_val *sett__compare_coords(const sett__ctx *c, const sett_layout *crd, sett_arg origin, sett_arg limit, bool least)
{
    sett__axes m;
    size_t leaves = (size_t)sett__leaves(limit);
    struct sett__pred *p = sett__new(c->b, sizeof *p + leaves * sizeof *p->leaf);
    if (!p || !sett__axes_of(c, crd->shape, crd->stride, &m) ||
        !collect_bounds(c, &m, limit, origin, 0, 0, least, p))
        return &c->b->poison->val;
    SETT__FAIL_IF(c->b, c->site, c->func, m.size < 1 || m.size > SETT__MAX_WIDTH, &c->b->poison->val, SETT_E_LIMIT,
        "a value has from 1 to %d elements, not %lld", SETT__MAX_WIDTH, (long long)m.size);
    p->size = (uint32_t)m.size;
    p->guard = SETT__TRUE;
    return lazy_pred(c->b, crd->shape, p);
}
