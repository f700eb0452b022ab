/* SPDX-License-Identifier: Apache-2.0 */
/* Predicates of accesses: which part of one an element looks at, and what it says of several elements together. */
#include "inside.h"

/* ---- maps -------------------------------------------------------------------------------- */
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

/* The extents that are not 1; negative: one is not static, or they are too many. */
static int extents_of(sett_arg shape, int64_t to[256])
{
    sett_arg flat[256];
    int n = 0;
    const int leaves = sett__leaves(shape);
    if (leaves > 256)
        return -1;
    sett__flat(shape, flat);
    for (int i = 0; i < leaves; i++) {
        if (flat[i].kind != SETT_INT)
            return -1;
        if (flat[i].u.i != 1)
            to[n++] = flat[i].u.i;
    }
    return n;
}

/* How many of the n extents have the product `whole`; 0: none. */
static int makes_up(int64_t whole, const int64_t *extent, int n)
{
    int i = 0;
    for (; i < n && whole != 1 && whole % extent[i] == 0; i++)
        whole /= extent[i];
    return whole == 1 ? i : 0;
}

bool sett__same_elements(sett_arg x, sett_arg y)
{
    int64_t a[256], b[256];
    const int n = extents_of(x, a), m = extents_of(y, b);
    int i = 0, k = 0;
    while (i < n && k < m) {
        const bool first = a[i] >= b[k];
        const int parts = first ? makes_up(a[i], b + k, m - k) : makes_up(b[k], a + i, n - i);
        if (!parts)
            return false;
        i += first ? 1 : parts;
        k += first ? parts : 1;
    }
    return n >= 0 && i == n && k == m;
}

static uint32_t *map_of(const sett__ctx *c, uint32_t n, sett_arg shape, const sett_val *pred)
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

/* ---- what it says ------------------------------------------------------------------------ */
bool sett__guard_take(const sett__ctx *c, sett__guard *g, const sett_val *pred, uint32_t n, sett_arg shape, bool lazily)
{
    *g = (sett__guard){.op = SETT__TRUE, .kinds = 1};
    if (!pred)
        return true;
    SETT__FAIL_IF(c->b, c->site, c->func, pred->dtype != SETT_BOOL, false, SETT_E_DTYPE, "a predicate is Boolean, not %s",
        sett_dtype_name((sett_dtype)pred->dtype));
    g->map = map_of(c, n, shape, pred);
    g->kinds = pred->n;
    if (!g->map)
        return false;
    if (lazily && pred->id == SETT__NONE)
        g->less = pred->pred;
    else
        g->op = sett__materialise(c->site, pred)->id;
    return !c->b->error.status;
}

bool sett__guard_alike(const sett__ctx *c, const sett__guard *g, const uint32_t *kind, uint32_t n)
{
    if (g->less)
        return n == 1 || sett__pred_alike(c, g->less, kind, n);
    for (uint32_t i = 1; i < n; i++)
        if (kind[i] != kind[0])
            return false;
    return true;
}

static uint32_t one(const sett__ctx *c, const sett__guard *g, uint32_t kind)
{
    return g->op == SETT__TRUE || c->b->op[g->op].n == 1 ? g->op : sett__pick(c->b, c->site, g->op, &kind, 1);
}

uint32_t sett__guard_all(const sett__ctx *c, const sett__guard *g, const uint32_t *kind, uint32_t n, bool stay)
{
    uint32_t all = SETT__TRUE;
    if (g->less)
        return sett__pred_all(c, g->less, kind, n, stay);
    for (uint32_t i = 0; i < n && !c->b->error.status; i++)
        if (!i || kind[i] != kind[i - 1])
            all = sett__and(c, all, one(c, g, kind[i]), stay);
    return all;
}

uint32_t sett__guard_any(const sett__ctx *c, const sett__guard *g, const uint32_t *kind, uint32_t n, bool stay)
{
    uint32_t any = SETT__FALSE;
    if (g->less)
        return sett__pred_any(c, g->less, kind, n, stay);
    for (uint32_t i = 0; i < n && !c->b->error.status; i++)
        any = sett__or(c, any, one(c, g, kind[i]), stay);
    return any;
}
