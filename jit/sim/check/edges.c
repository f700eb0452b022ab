/* SPDX-License-Identifier: Apache-2.0 */
/* What orders accesses: barriers, mbarriers, groups, fences. PTX ISA, "Memory Consistency Model": causality order. */
#include "agents.h"
#include <stdlib.h>

enum { RELAXED = 1, NEAR_SCOPE = 0 }; /* sett__cluster_word, sett__near_word */

/* ---- barriers ---------------------------------------------------------------------------------------------------------- */
static bool barrier_arrive(near *n, sett__core *c, const sett__sync *s)
{
    near_block *b = &n->block[c->cta->rank];
    if (!s->n)
        return sett__release(n, c, s->warp, s->lanes, &b->barrier[s->id], false);
    b->waiting[s->id] |= 1u << s->warp->index;
    walker *x = sett__walker(n, c, s->warp);
    x->waited = s->op + 1, x->waited_lanes = s->lanes;
    return true;
}

static bool barrier_met(near *n, sett__core *c, const sett__sync *s)
{
    near_block *b = &n->block[s->of->rank];
    sett__cta *was = c->cta;
    sett__cta_turn_to(c, s->of);
    const bool fine = !b->waiting[s->id] || sett__warps_meet(n, c, s->of, b->waiting[s->id], b->barrier[s->id]);
    sett__cta_turn_to(c, was);
    sett__clocks_drop(n, b->barrier[s->id]);
    b->barrier[s->id] = NULL;
    b->waiting[s->id] = 0;
    return fine;
}

/* ---- mbarriers: what arrives at one is known to who waits for the phase, and for later ones ------------------------------ */
static mbar *mbar_of(near *n, const sett__sync *s)
{
    return &n->block[s->of->rank].mbar[n->mbar_number[s->id]];
}

static bool mbar_init(near *n, sett__core *c, const sett__sync *s)
{
    mbar *m = mbar_of(n, s);
    sett__mbar_clear(n, m);
    *m = (mbar){.op = s->op, .agent = (uint16_t)sett__agent(n, OF_WARP, c->cta->rank, s->warp->index), .lane = (uint8_t)__builtin_ctz(s->lanes)};
    m->init = s->what == SETT__MBAR_INIT ? ++n->time : 0;
    if (m->init)
        n->last[m->agent] = n->time;
    return true;
}

/* Who uses it must know of its init. */
static bool mbar_used(near *n, sett__core *c, const sett__sync *s)
{
    const mbar *m = mbar_of(n, s);
    const uint32_t lane = (uint32_t)__builtin_ctz(s->lanes);
    const bool own = m->agent == sett__agent(n, OF_WARP, c->cta->rank, s->warp->index) && m->lane == lane;
    if (!m->init || own || s->event || sett__covers(n, sett__known_by(n, c, s->warp, lane), BEFORE, m->agent, m->lane, m->init))
        return true;
    return sett__tell_init(c, n, s, s->of, s->id, m);
}

/* PTX ISA, fence: with .mbarrier_init "the synchronizing effect of the fence only applies to the prior mbarrier.init operations executed by
 * the same thread". */
static void mbars_shown(near *n, const sett__core *c, const sett__sync *s)
{
    const uint32_t warp = sett__agent(n, OF_WARP, c->cta->rank, s->warp->index);
    n->last[warp] = ++n->time;
    for (uint32_t i = 0; i < n->n_mbar; i++) {
        mbar *m = &n->block[c->cta->rank].mbar[i];
        if (m->init && !m->shown && m->agent == warp && s->lanes >> m->lane & 1) /* who is behind a later one is behind the first */
            m->shown = n->time;
    }
}

/* cp.async that arrives: what the lanes have copied until it was issued. */
static bool copies_arrive(near *n, sett__core *c, const sett__sync *s)
{
    const flight *f = s->event->told;
    const uint32_t a = sett__agent(n, OF_CP_ASYNC, c->cta->rank, s->warp->index);
    clocks **to = &mbar_of(n, s)->coming[0];
    if (!f || (!*to && !(*to = sett__clocks_new(n, NULL))))
        return f == NULL;
    for (int clock = BEFORE; clock < CLOCKS; clock += STRONGER) {
        uint32_t *top = &sett__top(n, *to, clock)[a], *mask = &sett__mask(n, *to, clock)[a], *base = &sett__base(n, *to, clock)[a];
        *top = *top > f->began ? *top : f->began;
        *mask |= s->lanes;
        if (*mask == s->warp->live && *base < f->began)
            *base = f->began;
    }
    return true;
}

/* A release, or, if it is relaxed, what a fence lies behind that includes who waits. */
static bool tell(near *n, sett__core *c, const sett__sync *s, clocks **to, bool relaxed, bool far)
{
    const clocks *behind = sett__walker(n, c, s->warp)->behind[far];
    if (!sett__release(n, c, s->warp, s->lanes, to, relaxed))
        return false;
    if (relaxed && behind)
        sett__clocks_join(n, *to, behind);
    return true;
}

static bool memory_fence(near *n, sett__core *c, const sett__sync *s)
{
    walker *x = sett__walker(n, c, s->warp);
    const bool far = sett__attr(c->program->given->arg, &c->program->given->op[s->op], SETT__AT_FENCE_SCOPE) != SETT_SCOPE_CTA;
    return sett__release(n, c, s->warp, s->lanes, &x->behind[0], false) && (!far || sett__release(n, c, s->warp, s->lanes, &x->behind[1], false));
}

/* Scopes: an arrival at a peer's that releases for the block alone tells the peer nothing. */
static bool mbar_arrive(near *n, sett__core *c, const sett__sync *s)
{
    const uint32_t *arg = c->program->given->arg;
    const sett__op *o = &c->program->given->op[s->op];
    const bool far = s->of != c->cta, arrives = o->code == SETT__MBARRIVE;
    const bool relaxed = (arrives && sett__attr(arg, o, SETT__AT_ARRIVE_ORDER) == RELAXED) ||
        (far && sett__attr(arg, o, arrives ? SETT__AT_ARRIVE_SCOPE : SETT__AT_EXPECT_SCOPE) == NEAR_SCOPE);
    if (s->event)
        return n->first[OF_CP_ASYNC] < 0 || copies_arrive(n, c, s);
    return mbar_used(n, c, s) && tell(n, c, s, &mbar_of(n, s)->coming[far], relaxed, far);
}

/* Bytes have come: the copy's accesses are done, to who waits. */
static bool mbar_complete(near *n, const sett__sync *s)
{
    mbar *m = mbar_of(n, s);
    const flight *f = s->event ? s->event->told : NULL;
    if (!f)
        return true;
    if (!m->coming[0] && !(m->coming[0] = sett__clocks_new(n, NULL)))
        return false;
    const uint32_t a = sett__agent(n, OF_MBARRIER, s->of->rank, n->mbar_number[s->id]), time = f->time[s->of->rank];
    for (int clock = 0; clock < n->clocks; clock++) {
        uint32_t *base = &sett__base(n, m->coming[0], clock)[a];
        *base = *base > time ? *base : time;
    }
    return true;
}

static bool mbar_phase(near *n, const sett__sync *s)
{
    mbar *m = mbar_of(n, s);
    for (int far = 0; far < 2; far++) {
        sett__clocks_drop(n, m->ended[far]);
        m->ended[far] = m->coming[far] ? sett__clocks_new(n, m->coming[far]) : NULL;
    }
    return !n->full;
}

/* A wait for the block alone learns nothing of what peers did; copies that peers began complete for any scope. */
static bool mbar_waited(near *n, sett__core *c, const sett__sync *s)
{
    const mbar *m = mbar_of(n, s);
    walker *x = sett__walker(n, c, s->warp);
    x->waits[OF_MBARRIER] = s->op + 1;
    x->waited_mbar = n->mbar_number[s->id];
    const bool far = sett__attr(c->program->given->arg, &c->program->given->op[s->op], SETT__AT_MBAR_SCOPE) != NEAR_SCOPE;
    return mbar_used(n, c, s) && sett__acquire(n, c, s->warp, s->lanes, m->ended[0], s->op) &&
        (far ? sett__acquire : sett__acquire_weak)(n, c, s->warp, s->lanes, m->ended[1], s->op);
}

/* ---- groups ---------------------------------------------------------------------------------------------------------- */
static bool commit(near *n, commits *x, uint32_t lanes)
{
    const uint32_t k = x->n++ % GROUPS;
    x->of[k].lanes = lanes;
    x->of[k].last = n->time;
    return true;
}

/* Until when a lane's groups are done, but for the newest `pending`; below 0: but for none, committed or not. */
static uint32_t done_until(const near *n, const commits *x, int lane, int64_t pending)
{
    if (pending < 0)
        return n->time;
    for (uint32_t k = 0; k < x->n && k < GROUPS; k++) {
        const uint32_t at = (x->n - 1 - k) % GROUPS;
        if (x->of[at].lanes >> lane & 1 && pending-- == 0)
            return x->of[at].last;
    }
    return 0;
}

/* A lane's groups are known to that lane. */
static bool group_done(near *n, sett__core *c, const sett__sync *s, uint32_t role, const commits *x)
{
    walker *w = sett__walker(n, c, s->warp);
    const uint32_t a = sett__agent(n, role, c->cta->rank, s->warp->index);
    w->waited = w->waits[role] = s->op + 1, w->waited_lanes = s->lanes;
    if (n->first[role] < 0)
        return true;
    if (!sett__clocks_own(n, &w->known) || (w->more && !sett__clocks_own(n, &w->more)))
        return false;
    for (uint32_t m = s->lanes, same; m; m &= ~same) {
        const uint32_t until = done_until(n, x, __builtin_ctz(m), s->n);
        same = m & -m;
        for (uint32_t l = m & (m - 1); l; l &= l - 1)
            same |= done_until(n, x, __builtin_ctz(l), s->n) == until ? l & -l : 0;
        for (int which = 0; which < 2; which++)
            for (int clock = BEFORE; clock < n->clocks; clock++) {
                clocks *k = which ? w->more : w->known;
                if (!k || !until)
                    continue;
                uint32_t *top = &sett__top(n, k, clock)[a], *mask = &sett__mask(n, k, clock)[a];
                if (clock != BEFORE && clock != STRONGER && role == OF_CP_ASYNC)
                    continue; /* plain accesses, which a fence of the lane's must follow */
                *mask |= same;
                *top = *top > until ? *top : until;
            }
    }
    return true;
}

static bool bulk_done(near *n, sett__core *c, const sett__sync *s)
{
    const sett__op *o = &c->program->given->op[s->op];
    const commits *x = &sett__walker(n, c, s->warp)->bulk;
    const bool read = sett__attr(c->program->given->arg, o, SETT__AT_BULKWAIT_READ);
    return group_done(n, c, s, OF_BULK_READ, x) && (read || group_done(n, c, s, OF_BULK_WRITE, x));
}

/* One of the four has waited for the product: all of it has read its matrices. */
static bool wgmma_done(near *n, sett__core *c, const sett__sync *s)
{
    walker *x = sett__walker(n, c, s->warp);
    const uint32_t left = (uint32_t)s->n, first = s->warp->index / SETT__GROUP * SETT__GROUP;
    x->waited = x->waits[OF_WGMMA] = s->op + 1, x->waited_lanes = s->lanes;
    if (n->first[OF_WGMMA] < 0 || x->products_committed <= left)
        return true;
    if (!sett__clocks_own(n, &x->known) || (x->more && !sett__clocks_own(n, &x->more)))
        return false;
    const uint32_t products = x->group[(x->products_committed - 1 - left) % 16];
    for (uint32_t w = first; w < first + SETT__GROUP && products; w++) {
        const uint32_t a = sett__agent(n, OF_WGMMA, c->cta->rank, w), time = n->walker[c->cta->rank * n->warps + w].product[(products - 1) % PRODUCTS];
        for (int which = 0; which < 2; which++)
            for (int clock = BEFORE; clock < n->clocks; clock++) {
                clocks *k = which ? x->more : x->known;
                uint32_t *base = k ? &sett__base(n, k, clock)[a] : NULL;
                if (base && *base < time)
                    *base = time;
            }
    }
    return true;
}

/* ---- what goes on by itself ------------------------------------------------------------------------------------------ */
static uint32_t access_of(near *n, const sett__sync *s, uint32_t agent, uint32_t round)
{
    return sett__access_new(n, &(access){.op = s->op, .lanes = s->lanes, .agent = (uint16_t)agent, .proxy = SETT__ASYNC_PROXY, .round = round});
}

static bool product_begins(near *n, sett__core *c, const sett__sync *s, flight *f)
{
    const uint32_t group = c->cta->rank * n->warps + s->warp->index / SETT__GROUP * SETT__GROUP;
    walker *x = sett__walker(n, c, s->warp);
    product *p = n->product;
    while (p && (p->group != group || p->nth != s->event->nth))
        p = p->next;
    if (!p) {
        if (!(p = calloc(1, sizeof *p)))
            return false;
        p->group = group;
        p->nth = s->event->nth;
        p->next = n->product;
        n->product = p;
    }
    f->product = p;
    f->time[0] = access_of(n, s, sett__agent(n, OF_WGMMA, c->cta->rank, s->warp->index), sett__round_of(n, c, s->warp, s->op, 0));
    x->product[x->products++ % PRODUCTS] = f->time[0];
    p->shot[s->warp->index % SETT__GROUP] = x->known;
    x->known->refs++;
    return f->time[0];
}

void sett__product_free(near *n, product *p)
{
    for (int k = 0; k < SETT__GROUP; k++)
        sett__clocks_drop(n, p->shot[k]);
    sett__clocks_drop(n, p->known);
    free(p);
}

static void product_ends(near *n, product *p)
{
    product **at = &n->product;
    if (++p->ended < SETT__GROUP)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    sett__product_free(n, p);
}

/* Is a copy begun behind a fence that shows copies the mbarrier's init: one by the thread that made it, or one of the async proxy that came
 * after the init? */
static bool is_shown(const near *n, const sett__core *c, const sett__sync *s, const flight *f, const mbar *m)
{
    const bool own = m->agent == sett__agent(n, OF_WARP, c->cta->rank, s->warp->index) && m->lane == s->event->lane;
    const bool own_fence = m->shown && (own || sett__covers(n, f->known, BEFORE, m->agent, m->lane, m->shown));
    return own_fence || (n->fences[0] && sett__covers(n, f->known, FENCED, m->agent, m->lane, m->init));
}

static bool load_begins(near *n, sett__core *c, const sett__sync *s, flight *f, uint32_t round)
{
    const uint32_t number = n->mbar_number[s->event->mbar];
    for (uint32_t r = 0; r < n->blocks; r++) {
        const mbar *m = &n->block[r].mbar[number];
        if (!(s->event->ranks >> r & 1))
            continue;
        if (m->init && !is_shown(n, c, s, f, m) && !sett__tell_init(c, n, s, n->block[r].cta, s->event->mbar, m))
            return false;
        if (!(f->time[r] = access_of(n, s, sett__agent(n, OF_MBARRIER, r, number), round)))
            return false;
    }
    return true;
}

static bool event_begins(near *n, sett__core *c, const sett__sync *s)
{
    sett__event *e = s->event;
    flight *f = calloc(1, sizeof *f);
    if (!f)
        return false;
    f->next = n->flight;
    f->link = &n->flight;
    if (f->next)
        f->next->link = &f->next;
    n->flight = f;
    e->told = f;
    f->began = n->time;
    if (e->kind == SETT__EVENT_CP)
        return true;
    if (e->kind == SETT__EVENT_WGMMA)
        return product_begins(n, c, s, f);
    f->known = sett__known_by(n, c, s->warp, (uint32_t)e->lane);
    f->known->refs++;
    const uint32_t round = sett__round_of(n, c, s->warp, s->op, e->lane);
    bool fine = true;
    if (e->kind == SETT__EVENT_STORE)
        for (int k = 0; k < 2 && fine; k++)
            fine = (f->time[k] = access_of(n, s, sett__agent(n, k ? OF_BULK_WRITE : OF_BULK_READ, c->cta->rank, s->warp->index), round));
    return e->kind == SETT__EVENT_LOAD ? load_begins(n, c, s, f, round) : fine;
}

static bool event_ends(near *n, const sett__sync *s)
{
    flight *f = s->event->told;
    if (!f)
        return true;
    s->event->told = NULL;
    if (f->product)
        product_ends(n, f->product);
    sett__clocks_drop(n, f->known);
    *f->link = f->next;
    if (f->next)
        f->next->link = f->link;
    free(f);
    return true;
}

/* ---- the cluster's barrier ------------------------------------------------------------------------------------------- */
static bool cluster_arrive(near *n, sett__core *c, const sett__sync *s)
{
    const sett__op *o = &c->program->given->op[s->op];
    return tell(n, c, s, &n->coming, sett__attr(c->program->given->arg, o, SETT__AT_CLARRIVE_ORDER) == RELAXED, true);
}

static bool cluster_met(near *n)
{
    sett__clocks_drop(n, n->met);
    n->met = n->coming;
    n->coming = NULL;
    return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */
/* For reports. Lanes that tell one after another, at the same instruction, tell once. */
static void note_tell(const near *n, const sett__core *c, const sett__sync *s)
{
    walker *x = sett__walker(n, c, s->warp);
    if (x->tells && x->told_at == n->time && x->told[(x->tells - 1) % TOLD].op == s->op) {
        x->told[(x->tells - 1) % TOLD].lanes |= s->lanes;
        return;
    }
    const uint32_t at = x->tells++ % TOLD;
    x->told[at].time = n->time;
    x->told[at].op = s->op;
    x->told[at].lanes = s->lanes;
    x->told[at].round = sett__round_of(n, c, s->warp, s->op, __builtin_ctz(s->lanes | 1u << 31));
}

bool sett__near_sync(sett__core *c, near *n, const sett__sync *s)
{
    enum { ASYNC, SHARED }; /* sett__proxy_word */
    bool fine = true;
    if (s->what == SETT__LANES_SYNC || s->what == SETT__BARRIER_ARRIVE || s->what == SETT__CLUSTER_ARRIVE || (s->what == SETT__MBAR_ARRIVE && !s->event))
        note_tell(n, c, s);
    switch ((enum sett__sync_what)s->what) {
    case SETT__LANES_SYNC: fine = sett__lanes_meet(n, c, s->warp); break;
    case SETT__BARRIER_ARRIVE: fine = barrier_arrive(n, c, s); break;
    case SETT__BARRIER_MET: fine = barrier_met(n, c, s); break;
    case SETT__MBAR_INIT:
    case SETT__MBAR_INVAL: fine = mbar_init(n, c, s); break;
    case SETT__MBAR_ARRIVE: fine = mbar_arrive(n, c, s); break;
    case SETT__MBAR_EXPECT: fine = mbar_used(n, c, s); break;
    case SETT__MBAR_COMPLETE: fine = mbar_complete(n, s); break;
    case SETT__MBAR_PHASE: fine = mbar_phase(n, s); break;
    case SETT__MBAR_WAITED: fine = mbar_waited(n, c, s); break;
    case SETT__EVENT_BEGINS: fine = event_begins(n, c, s); break;
    case SETT__EVENT_ENDS: fine = event_ends(n, s); break;
    case SETT__CP_COMMIT: fine = commit(n, &sett__walker(n, c, s->warp)->cp, s->lanes); break;
    case SETT__CP_WAITED: fine = group_done(n, c, s, OF_CP_ASYNC, &sett__walker(n, c, s->warp)->cp); break;
    case SETT__BULK_COMMIT: fine = commit(n, &sett__walker(n, c, s->warp)->bulk, s->lanes); break;
    case SETT__BULK_WAITED: fine = bulk_done(n, c, s); break;
    case SETT__WGMMA_COMMIT: {
        walker *x = sett__walker(n, c, s->warp);
        x->group[x->products_committed++ % 16] = x->products;
        break;
    }
    case SETT__WGMMA_WAITED: fine = wgmma_done(n, c, s); break;
    case SETT__CLUSTER_ARRIVE: fine = cluster_arrive(n, c, s); break;
    case SETT__CLUSTER_MET: fine = cluster_met(n); break;
    case SETT__CLUSTER_WAITED: fine = sett__acquire(n, c, s->warp, s->lanes, n->met, s->op); break;
    case SETT__PROXY_FENCED:
        if (s->n <= SHARED && s->warp) {
            walker *x = sett__walker(n, c, s->warp);
            x->fenced = s->op + 1, x->fenced_at = n->time;
        }
        fine = sett__fence_async(n, c, s);
        break;
    case SETT__MBAR_FENCED: mbars_shown(n, c, s); break;
    case SETT__MEMORY_FENCED: fine = memory_fence(n, c, s); break;
    case SETT__BLOCK_ENDS: fine = sett__shared_left(c, n, s->of); break;
    default: break;
    }
    return fine;
}
