/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: how what one knows reaches another. */
#include "agents.h"
#include <stdlib.h>

/* ---- clocks ------------------------------------------------------------------------------------------------------- */
static size_t words_of(const near *n)
{
    return 3 * n->part;
}

clocks *sett__clocks_new(near *n, const clocks *like)
{
    clocks *k = n->free;
    if (k)
        n->free = k->next;
    else
        k = malloc(sizeof *k + words_of(n) * sizeof *k->at);
    n->full |= !k;
    if (!k)
        return NULL;
    k->refs = 1;
    k->has_floors = like && like->has_floors;
    if (like)
        memcpy(k->floor, like->floor, sizeof k->floor), memcpy(k->at, like->at, words_of(n) * sizeof *k->at);
    else
        memset(k->at, 0, words_of(n) * sizeof *k->at);
    return k;
}

void sett__clocks_drop(near *n, clocks *k)
{
    if (!k || --k->refs)
        return;
    k->next = n->free;
    n->free = k;
}

/* Numbers below 2^31, so that any machine compares four at once. */
static void join(uint32_t *to, const uint32_t *from, size_t times, size_t masks)
{
    int32_t *a = (int32_t *)to;
    const int32_t *b = (const int32_t *)from;
    for (size_t k = 0; k < times; k++)
        a[k] = a[k] > b[k] ? a[k] : b[k];
    for (size_t k = times; k < times + masks; k++)
        to[k] |= from[k];
}

void sett__clocks_join(const near *n, clocks *to, const clocks *from)
{
    join(to->at, from->at, 2 * n->part, n->part);
    to->has_floors = false;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* What has been waited for is done, whatever tells it: an arrival that is relaxed is enough to give a stage back that products have read,
 * or to say that a copy has come. PTX does not say so of a relaxed one; whoever waits for the completion does it for that. */
void sett__clocks_join_weak(const near *n, clocks *to, const clocks *from)
{
    for (int part = 0; part < 3; part++) {
        const size_t at = (size_t)part * n->part + (size_t)STRONGER * n->stride;
        join(to->at + at, from->at + at, part < 2 ? n->stride : 0, part < 2 ? 0 : n->stride);
    }
    for (uint32_t a = 0; a < n->agents; a++)
        if (!sett__is_threads(n, a))
            to->at[a] = most(to->at[a], from->at[a]);
    to->has_floors = false;
}

void sett__clocks_meet(const near *n, clocks *to, const clocks *from)
{
    const size_t part = n->part;
    uint32_t *a = to->at;
    const uint32_t *b = from->at;
    for (size_t k = 0; k < part; k++) {
        const uint32_t base_a = a[k], base_b = b[k], top_a = most(a[k + part], base_a), top_b = most(b[k + part], base_b), top = least(top_a, top_b);
        a[k] = least(base_a, base_b);
        a[k + part] = top;
        a[k + 2 * part] = (base_a >= top ? UINT32_MAX : a[k + 2 * part]) & (base_b >= top ? UINT32_MAX : b[k + 2 * part]);
    }
    to->has_floors = false;
}

/* Accesses to come are later than all of these, so a floor stays right while time goes on. */
void sett__floors(const near *n, clocks *k)
{
    const uint32_t *c = sett__base(n, k, BEFORE), *f = sett__base(n, k, FENCED), *s = sett__base(n, k, OWN_FENCE);
    uint32_t generic = n->time, async = n->time;
    for (uint32_t a = 0; a < n->agents; a++) {
        if (n->last[a] > c[a])
            generic = least(generic, c[a]);
        if (sett__is_threads(n, a) && n->last[a] > least(f[a], s[a]))
            async = least(async, least(f[a], s[a]));
    }
    k->floor[0] = generic;
    k->floor[1] = least(generic, async);
    k->has_floors = true;
}

/* ---- a warp --------------------------------------------------------------------------------------------------------- */
bool sett__clocks_own(near *n, clocks **k)
{
    if ((*k)->refs > 1) {
        clocks *own = sett__clocks_new(n, *k);
        if (!own)
            return false;
        sett__clocks_drop(n, *k);
        *k = own;
    }
    (*k)->has_floors = false;
    return true;
}

/* Products that follow each other mostly know the same. */
clocks *sett__product_known(near *n, product *p)
{
    clocks **met = n->walker[p->group].met;
    if (p->known)
        return p->known;
    if (memcmp(met, p->shot, sizeof p->shot)) {
        clocks *k = sett__clocks_new(n, p->shot[0]);
        for (int i = 1; i < SETT__GROUP && k; i++)
            sett__clocks_meet(n, k, p->shot[i]);
        for (int i = 0; i <= SETT__GROUP; i++) {
            sett__clocks_drop(n, met[i]);
            met[i] = i < SETT__GROUP ? p->shot[i] : k;
            if (met[i] && i < SETT__GROUP)
                met[i]->refs++;
        }
    }
    p->known = met[SETT__GROUP];
    if (p->known)
        p->known->refs++;
    return p->known;
}

clocks *sett__known_by(near *n, sett__core *c, const sett__warp *w, uint32_t lane)
{
    walker *x = sett__walker(n, c, w);
    return x->more && lane < WARP && x->more_lanes >> lane & 1 ? x->more : x->known;
}

/* The agents that are lanes of this warp: what a lane waited for is its own until it tells others. */
static uint32_t own_agents(const near *n, const sett__core *c, const sett__warp *w, uint32_t own[ROLES])
{
    static const uint8_t roles[] = {OF_WARP, OF_CP_ASYNC, OF_BULK_READ, OF_BULK_WRITE};
    uint32_t k = 0;
    for (uint32_t i = 0; i < sizeof roles; i++)
        if (n->first[roles[i]] >= 0)
            own[k++] = sett__agent(n, roles[i], c->cta->rank, w->index);
    return k;
}

/* What lanes of the warp know of what others of them began. */
static void share_own(const near *n, walker *x, const clocks *k, const uint32_t *own, uint32_t n_own)
{
    for (uint32_t i = 1; i < n_own; i++) {
        const uint32_t *top = k->at + n->part + own[i];
        x->shared[i].top = most(x->shared[i].top, *top);
        x->shared[i].lanes |= top[n->part];
    }
}

bool sett__knows(const near *n, const clocks *k, int clock, uint32_t self, uint32_t lane, uint32_t agent, uint32_t old_lane, uint32_t time)
{
    const int32_t role = (int32_t)(agent - self);
    const walker *x = &n->walker[self / n->per_block * n->warps + self % n->per_block];
    if (!sett__covers(n, k, clock, agent, old_lane, time))
        return false;
    if (lane == old_lane || old_lane >= MANY_LANES || role <= 0 || k->at[(size_t)clock * n->stride + agent] >= time)
        return true;
    uint32_t i = 0;
    for (int r = OF_CP_ASYNC; r <= OF_BULK_WRITE; r++) {
        i += n->first[r] >= 0;
        if (n->first[r] == role)
            return x->shared[i].top >= time && x->shared[i].lanes >> old_lane & 1;
    }
    return true;
}

/* What a lane did comes before what it tells; of what it began, what it has waited for. */
static void add_own(const near *n, clocks *to, clocks *from, const walker *x, const sett__warp *w, uint32_t lanes, const uint32_t *own, uint32_t n_own, int clock)
{
    const bool all = lanes == w->live, counts = clock == BEFORE || clock == STRONGER;
    uint32_t *base = sett__base(n, to, clock), *top = sett__top(n, to, clock), *mask = sett__mask(n, to, clock);
    const uint32_t *b = sett__base(n, from, clock), *t = sett__top(n, from, clock), *m = sett__mask(n, from, clock);
    for (uint32_t k = 0; k < n_own; k++) {
        const uint32_t a = own[k];
        const uint32_t until = !k && counts ? n->time : t[a], of = !k && counts ? lanes : m[a] & (k ? lanes | x->shared[k].lanes : lanes);
        base[a] = most(base[a], b[a]);
        if (all && of == w->live)
            base[a] = most(base[a], until);
        else if (of)
            top[a] = most(top[a], until), mask[a] |= of;
    }
}

/* Join but for the agents of the warp itself. */
static void join_others(const near *n, clocks *to, clocks *from, const uint32_t *own, uint32_t n_own, bool relaxed)
{
    uint32_t kept[ROLES][3 * MOST_CLOCKS];
    const uint32_t n_kept = 3 * (uint32_t)n->clocks;
    for (uint32_t k = 0; k < n_own; k++)
        for (uint32_t i = 0; i < n_kept; i++)
            kept[k][i] = to->at[i * n->stride + own[k]];
    if (relaxed)
        sett__clocks_join_weak(n, to, from);
    else
        sett__clocks_join(n, to, from);
    for (uint32_t k = 0; k < n_own; k++)
        for (uint32_t i = 0; i < n_kept; i++)
            to->at[i * n->stride + own[k]] = kept[k][i];
}

bool sett__release(near *n, sett__core *c, const sett__warp *w, uint32_t lanes, clocks **to, bool relaxed)
{
    walker *x = sett__walker(n, c, w);
    uint32_t own[ROLES];
    const uint32_t n_own = own_agents(n, c, w, own);
    const bool fresh = !*to;
    if (fresh && !(*to = sett__clocks_new(n, NULL)))
        return false;
    if (!fresh && x->told_to == to && x->told_at == n->time && !relaxed && !x->more) { /* another lane, at the same instruction */
        x->told_lanes |= lanes;
        for (int clock = BEFORE; clock < n->clocks; clock++)
            add_own(n, *to, x->known, x, w, x->told_lanes, own, n_own, clock);
        x->told_at = ++n->time;
        return true;
    }
    for (int which = 0; which < 2; which++) {
        clocks *from = which ? x->more : x->known;
        if (!from || (which && !(x->more_lanes & lanes)))
            continue;
        join_others(n, *to, from, own, n_own, relaxed);
        for (int clock = relaxed ? STRONGER : BEFORE; clock < (relaxed ? CLOCKS : n->clocks); clock++)
            add_own(n, *to, from, x, w, lanes, own, n_own, clock);
    }
    (*to)->has_floors = false;
    x->told_to = relaxed ? NULL : to;
    x->told_at = ++n->time;
    x->told_lanes = lanes;
    return true;
}

static bool acquire(near *n, sett__core *c, const sett__warp *w, uint32_t lanes, const clocks *from, uint32_t op, void (*learn)(const near *, clocks *, const clocks *))
{
    walker *x = sett__walker(n, c, w);
    x->waited = op + 1, x->waited_lanes = lanes;
    if (!from)
        return true;
    uint32_t own[ROLES];
    share_own(n, x, from, own, own_agents(n, c, w, own));
    if (lanes != w->live || x->more) {
        if (!x->more && !(x->more = sett__clocks_new(n, x->known)))
            return false;
        x->more_lanes = lanes == w->live ? x->more_lanes : x->more_lanes | lanes;
        if (!sett__clocks_own(n, &x->more))
            return false;
        learn(n, x->more, from);
    }
    if (lanes != w->live)
        return true;
    if (!sett__clocks_own(n, &x->known))
        return false;
    learn(n, x->known, from);
    return true;
}

bool sett__acquire(near *n, sett__core *c, const sett__warp *w, uint32_t lanes, const clocks *from, uint32_t op)
{
    return acquire(n, c, w, lanes, from, op, sett__clocks_join);
}

bool sett__acquire_weak(near *n, sett__core *c, const sett__warp *w, uint32_t lanes, const clocks *from, uint32_t op)
{
    return acquire(n, c, w, lanes, from, op, sett__clocks_join_weak);
}

/* What each lane knows and did, all of them know from now on. */
bool sett__lanes_meet(near *n, sett__core *c, const sett__warp *w)
{
    walker *x = sett__walker(n, c, w);
    uint32_t own[ROLES];
    const uint32_t n_own = own_agents(n, c, w, own);
    if (!sett__clocks_own(n, &x->known))
        return false;
    if (x->more)
        sett__clocks_join(n, x->known, x->more);
    for (int clock = 0; clock < n->clocks; clock++)
        add_own(n, x->known, x->known, x, w, w->live, own, n_own, clock);
    share_own(n, x, x->known, own, n_own);
    sett__clocks_drop(n, x->more);
    x->more = NULL;
    x->more_lanes = 0;
    x->meets++;
    n->time++;
    return true;
}

/* Everything that comes before is fenced; what the lanes themselves did, by whom it was. to: GLOBAL: of global memory. */
static void fence_of(const near *n, clocks *k, const sett__warp *w, uint32_t lanes, const uint32_t *own, uint32_t n_own, int to)
{
    for (size_t part = 0; part < 3; part++)
        memcpy(k->at + part * n->part + (size_t)(FENCED + to) * n->stride, k->at + part * n->part, n->stride * sizeof *k->at);
    for (int clock = FENCED + to; clock <= OWN_FENCE + to; clock++) {
        uint32_t *base = sett__base(n, k, clock), *top = sett__top(n, k, clock), *mask = sett__mask(n, k, clock);
        for (uint32_t i = 0; i < n_own; i++) {
            const uint32_t a = own[i];
            const uint32_t until = i ? sett__top(n, k, BEFORE)[a] : n->time - 1, of = i ? lanes & sett__mask(n, k, BEFORE)[a] : lanes;
            if (of == w->live)
                base[a] = most(base[a], until);
            else if (of)
                top[a] = most(top[a], until), mask[a] |= of;
        }
    }
    k->has_floors = false;
}

static void fence(const near *n, clocks *k, const sett__sync *s, const uint32_t *own, uint32_t n_own)
{
    enum { OF_SHARED = 1, OF_GLOBAL }; /* sett__proxy_word */
    if (n->clocks == CLOCKS || s->n != OF_GLOBAL)
        fence_of(n, k, s->warp, s->lanes, own, n_own, 0);
    if (n->clocks != CLOCKS && s->n != OF_SHARED)
        fence_of(n, k, s->warp, s->lanes, own, n_own, GLOBAL);
}

bool sett__fence_async(near *n, sett__core *c, const sett__sync *s)
{
    enum { OF_MAPS = 3 };
    const sett__warp *w = s->warp;
    const uint32_t lanes = s->lanes;
    walker *x = sett__walker(n, c, w);
    if (s->n == OF_MAPS)
        n->maps_released = n->time;
    if (s->n >= OF_MAPS || sett__fences_before(c->program->given, s->op))
        return true;
    uint32_t own[ROLES];
    const uint32_t n_own = own_agents(n, c, w, own);
    n->time++; /* what comes behind the fence is of a later time than what it fences */
    if (x->more_lanes & ~lanes || lanes != w->live) { /* some lanes alone know */
        if (!x->more && !(x->more = sett__clocks_new(n, x->known)))
            return false;
        x->more_lanes |= lanes;
    }
    if (x->more) {
        if (!sett__clocks_own(n, &x->more))
            return false;
        fence(n, x->more, s, own, n_own);
    }
    if (lanes != w->live)
        return true;
    if (!sett__clocks_own(n, &x->known))
        return false;
    fence(n, x->known, s, own, n_own);
    return true;
}

/* All of these warps meet, with who has told `from` (NULL: nobody): from now on they know the same. */
bool sett__warps_meet(near *n, sett__core *c, sett__cta *b, uint32_t warps, const clocks *from)
{
    uint32_t own[ROLES];
    const clocks *last = NULL;
    clocks *all = NULL;
    for (uint32_t m = warps; m; m &= m - 1) {
        const sett__warp *w = &b->warp[__builtin_ctz(m)];
        walker *x = sett__walker(n, c, w);
        if (!all && !(all = sett__clocks_new(n, x->known)))
            return false;
        if (last && x->known != last)
            sett__clocks_join(n, all, x->known);
        last = x->known;
        if (x->more)
            sett__clocks_join(n, all, x->more);
    }
    if (from)
        sett__clocks_join(n, all, from);
    n->time++;
    for (uint32_t m = warps; m; m &= m - 1) {
        const sett__warp *w = &b->warp[__builtin_ctz(m)];
        walker *x = sett__walker(n, c, w);
        const uint32_t n_own = own_agents(n, c, w, own);
        if (n_own == 1) /* nothing goes on by itself */
            sett__base(n, all, BEFORE)[*own] = sett__base(n, all, STRONGER)[*own] = n->time;
        for (int clock = 0; clock < n->clocks && n->per_block != n->warps; clock++) { /* of a block of warps alone there is no other proxy */
            if (n_own == 1 && (clock == BEFORE || clock == STRONGER))
                continue;
            add_own(n, all, x->known, x, w, w->live, own, n_own, clock);
            if (x->more)
                add_own(n, all, x->more, x, w, w->live, own, n_own, clock);
        }
        share_own(n, x, all, own, n_own);
        sett__clocks_drop(n, x->more);
        x->more = NULL;
        x->more_lanes = 0;
        x->meets++;
    }
    all->has_floors = false;
    for (uint32_t m = warps; m; m &= m - 1) {
        walker *x = sett__walker(n, c, &b->warp[__builtin_ctz(m)]);
        sett__clocks_drop(n, x->known);
        x->known = all;
        all->refs++;
    }
    sett__clocks_drop(n, all);
    return true;
}
