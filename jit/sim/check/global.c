/* SPDX-License-Identifier: Apache-2.0 */
#include "global.h"
#include "before.h"
#include "checker.h"
#include "maps.h"
#include <stdlib.h>

struct sett__global {
    sett__cells *cells;
    sett__words *words;    /* NULL: no strong access orders anything */
    sett__cells_use use;
    /* of the access that is told now */
    sett__core *core;
    near *near;
    const sett__accesses *of; /* NULL: a copy's */
    sett__actor actor;
    uint32_t strong;       /* strong accesses so far */
    sett__before *before;  /* the launch before, which may still run; NULL: it has ended */
    sett__grid_waits waits, fenced; /* fenced: fences of the async proxy behind them */
    sett__map_acquire *acquires;
    struct { const sett__warp *w; uint32_t op; int lane; uintptr_t at; } map; /* by which a copy is about to begin; at 0: none */
    uint32_t early, last_early; /* clusters that let the next launch begin before they waited themselves: how many, and the last */
    bool strict;
};

/* ---- what the tape has ----------------------------------------------------------------------------------------------- */
static bool is_volatile(const sett__tape *t, const sett__op *o)
{
    const uint8_t cls = sett__ops[o->code].cls;
    return (cls == SETT__C_LOAD || cls == SETT__C_STORE) && sett__attr(t->arg, o, SETT__AT_ACCESS_VOLATILE);
}

/* Does a thread learn anything by a strong access? Does it tell anything by one? */
static void ask_tape(const sett__tape *t, bool *learns, bool *tells)
{
    uint8_t *used = calloc((size_t)t->n_op + 1, 1);
    for (uint32_t v = 0; v < t->n_op && used; v++)
        for (int k = 0; k < t->op[v].n_args; k++)
            if (sett__arg(t, &t->op[v], k) < t->n_op)
                used[sett__arg(t, &t->op[v], k)] = 1;
    *learns = *tells = false;
    for (uint32_t v = 0; v < t->n_op; v++) {
        const sett__op *o = &t->op[v];
        const bool atom = sett__ops[o->code].cls == SETT__C_ATOM, word = is_volatile(t, o);
        *learns |= (atom && (!used || used[v])) || (word && sett__ops[o->code].cls == SETT__C_LOAD);
        *tells |= atom || (word && sett__ops[o->code].cls == SETT__C_STORE);
    }
    free(used);
}

/* ---- who --------------------------------------------------------------------------------------------------------------- */
static void actor_of(sett__global *g, const sett__warp *w, uint32_t lanes, uint32_t op)
{
    sett__core *c = g->core;
    near *n = g->near;
    g->actor = (sett__actor){.n = n, .c = c, .w = w, .known = sett__known_by(n, c, w, (uint32_t)__builtin_ctz(lanes)), .domain = (uint32_t)c->cta->number + 1,
        .rank = c->cta->rank, .agent = sett__agent(n, OF_WARP, c->cta->rank, w->index), .lanes = lanes, .op = op, .time = n->time};
}

/* What goes on by itself knows what its thread knew when it began. */
static void actor_of_event(sett__global *g, const sett__event *x, uint8_t how)
{
    const flight *f = x->told;
    actor_of(g, x->warp, 1u << x->lane, x->op);
    if (!f || !f->known)
        return;
    const bool load = x->kind == SETT__EVENT_LOAD;
    const uint32_t rank = !load || x->ranks >> g->actor.rank & 1 ? g->actor.rank : (uint32_t)__builtin_ctz(x->ranks);
    const uint32_t role = load ? OF_MBARRIER : how == SETT__READ ? OF_BULK_READ : OF_BULK_WRITE;
    g->actor.known = f->known;
    g->actor.agent = sett__agent(g->actor.n, role, rank, load ? g->actor.n->mbar_number[x->mbar] : x->warp->index);
    g->actor.time = f->time[load ? rank : role == OF_BULK_WRITE];
}

static bool report(sett__global *g, uint8_t kind, const sett__stamp *old, const sett__stamp *now, uintptr_t at, const sett__weak *weak)
{
    return sett__tell_global(&g->actor, g->words, kind, old, now, at, weak);
}

/* ---- two accesses ---------------------------------------------------------------------------------------------------------- */
/* The first byte of [lo, hi) that two lanes of one warp touch; hi: none. */
static uintptr_t shared_byte(const sett__stamp *old, const sett__stamp *now, uintptr_t lo, uintptr_t hi)
{
    while (lo < hi && sett__stamp_lane(old, lo) == sett__stamp_lane(now, lo) && sett__stamp_lane(old, lo) != SETT__ALL_LANES)
        lo++;
    return lo;
}

/* Does the store that is told now leave there what is there? It has not happened yet. */
static bool stores_the_same(const sett__global *g, const sett__stamp *now, uintptr_t lo, uintptr_t hi)
{
    const sett__insn *i = g->of->insn;
    const sett__ref value = i->access.value;
    const unsigned char *from = sett__at(g->of->warp, value);
    const uint32_t size = 1u << i->lg;
    for (uintptr_t p = lo; p < hi; p++) {
        const uint8_t lane = sett__stamp_lane(now, p);
        const uint32_t l = lane == SETT__ALL_LANES ? (uint32_t)__builtin_ctz(g->of->lanes) : lane, byte = (uint32_t)(p - g->of->at[l]);
        const uint32_t row = value & SETT__REF_SPLAT ? 0 : byte / size;
        if (from[((size_t)row * WARP + l) * size + byte % size] != *(const unsigned char *)p)
            return false;
    }
    return true;
}

static bool before(void *with, const sett__stamp *old, const sett__stamp *now)
{
    const sett__global *g = with;
    return old->domain == now->domain && sett__covers(g->actor.n, g->actor.known, BEFORE, old->agent, old->each ? MANY_LANES : old->lane, old->epoch);
}

/* As they are at a byte: ordered as written; by fences of the async proxy, too; if nothing were relaxed. now: NULL: any lane's. */
typedef struct order { bool before, stronger; int fenced; sett__weak weak[SETT__SIDES]; } order;
static order order_at(const sett__global *g, const sett__stamp *old, const sett__stamp *now, uintptr_t at)
{
    const sett__actor *a = &g->actor;
    const uint8_t lane = sett__stamp_lane(old, at), by = now ? sett__stamp_lane(now, at) : SETT__ALL_LANES;
    const int of = a->n->clocks == CLOCKS ? 0 : GLOBAL;
    order is = {.before = false};
    int fenced;
    if (old->domain == a->domain) {
        const uint32_t l = lane == SETT__ALL_LANES ? MANY_LANES : lane, self = sett__agent(a->n, OF_WARP, a->rank, a->w->index);
        const uint32_t mine = !now ? l : by != SETT__ALL_LANES ? by : a->lanes & (a->lanes - 1) ? MANY_LANES : (uint32_t)__builtin_ctz(a->lanes);
        is.before = sett__knows(a->n, a->known, BEFORE, self, mine, old->agent, l, old->epoch);
        is.fenced = sett__covers(a->n, a->known, FENCED + of, old->agent, l, old->epoch) + sett__covers(a->n, a->known, OWN_FENCE + of, old->agent, l, old->epoch);
        is.stronger = sett__knows(a->n, a->known, STRONGER, self, mine, old->agent, l, old->epoch);
    }
    if (!is.before && g->words)
        is.before = sett__words_before(g->words, SETT__WRITTEN, a, old, lane, &is.fenced, is.weak);
    is.fenced = a->n->fences[1] ? is.fenced : 0;
    if (!is.before && !is.stronger && g->words)
        is.stronger = sett__words_before(g->words, SETT__STRONGEST, a, old, lane, &fenced, is.weak);
    return is;
}

static bool scopes_meet(const sett__stamp *old, const sett__stamp *now)
{
    const bool wide = old->scope != SETT_SCOPE_CTA && now->scope != SETT_SCOPE_CTA && old->scope != SETT_SCOPE_CLUSTER && now->scope != SETT_SCOPE_CLUSTER;
    return wide || old->domain == now->domain;
}

/* The same lane of the same warp, one after the other. */
static bool in_program_order(const sett__global *g, const sett__stamp *old, const sett__stamp *now, uintptr_t lo, uintptr_t hi, uintptr_t *at)
{
    const uint32_t warp = sett__agent(g->actor.n, OF_WARP, g->actor.rank, g->actor.w->index);
    *at = lo;
    if (old->domain != now->domain || old->agent != warp || old->how & SETT__BY_ITSELF)
        return false;
    if (now->how & SETT__BY_ITSELF) /* of the lane that began it, before it did */
        return sett__stamp_lane(old, lo) == now->lane && old->each == 0 && old->epoch <= now->epoch;
    *at = old->lane != SETT__ALL_LANES && sett__same_lanes(old, now) ? hi : shared_byte(old, now, lo, hi);
    return *at == hi;
}

/* Bytes from p on of the same lane. */
static uint32_t of_one_lane(const sett__stamp *s, uintptr_t p)
{
    return s->each ? s->each - ((uint32_t)p - s->base) % s->each : UINT32_MAX;
}

static bool is_fine(const order *is, const sett__stamp *old, const sett__stamp *now)
{
    return is->before && (old->proxy == now->proxy || old->proxy != SETT__GENERIC_PROXY || is->fenced > 1);
}

/* A lane that has learned knows what its neighbours need not know: each lane of either is asked, from *at on, up to the first that is not
 * behind the older access. */
static order order_of(sett__global *g, const sett__stamp *old, const sett__stamp *now, uintptr_t *at, uintptr_t hi)
{
    const sett__actor *a = &g->actor;
    const uint32_t lanes = a->lanes;
    order is = order_at(g, old, now, *at);
    const bool all = old->domain == a->domain && sett__covers_all(a->n, a->known, BEFORE, old->agent, old->epoch) && (old->proxy == now->proxy || old->each == 0);
    uintptr_t next;
    for (uintptr_t p = *at; p < hi && !all && is_fine(&is, old, now); p = next) {
        const uint8_t lane = sett__stamp_lane(now, p);
        next = p + sett__least(of_one_lane(old, p), of_one_lane(now, p));
        next = next > hi ? hi : next;
        if (old->domain == a->domain && old->agent == a->agent && lane == sett__stamp_lane(old, p) && lane != SETT__ALL_LANES)
            continue;
        *at = p;
        for (uint32_t m = lane == SETT__ALL_LANES ? lanes : 1u << lane; m && is_fine(&is, old, now); m &= m - 1) {
            g->actor.lanes = m & -m;
            is = order_at(g, old, now, p);
        }
    }
    g->actor.lanes = lanes;
    return is;
}

static bool meet(void *with, const sett__stamp *old, const sett__stamp *now, uintptr_t lo, uintptr_t hi)
{
    sett__global *g = with;
    const bool strong = old->how & now->how & SETT__STRONG && old->proxy == now->proxy && old->width == now->width;
    const bool map = old->proxy == SETT__TENSORMAP_PROXY;
    uintptr_t at;
    if (now->proxy == SETT__TENSORMAP_PROXY) /* maps.c */
        return true;
    const bool own = in_program_order(g, old, now, lo, hi, &at);
    if ((strong && scopes_meet(old, now)) || (own && old->proxy == now->proxy))
        return true;
    order is = order_of(g, old, now, &at, hi);
    if (is.before || own)
        return old->proxy == now->proxy || old->proxy != SETT__GENERIC_PROXY || is.fenced > 1 ||
            report(g, is.fenced ? SETT_CHECK_PROXY_FENCE_SIDE : SETT_CHECK_PROXY_FENCE, old, now, at, NULL);
    if (g->words && old->how & SETT__STRONG && old->how & SETT__WRITE && sett__words_observed(g->words, &g->actor, old, lo))
        return true;
    if (!g->strict && g->of && old->op == now->op && !((old->how ^ SETT__WRITE) | (now->how ^ SETT__WRITE)) && stores_the_same(g, now, lo, hi))
        return true;
    return report(g, map ? SETT_CHECK_TENSORMAP : strong || is.stronger ? SETT_CHECK_ORDER : SETT_CHECK_RACE, old, now, at, is.weak);
}

/* ---- accesses of threads ---------------------------------------------------------------------------------------------------- */
static bool touch(sett__global *g, const sett__stamp *s, uintptr_t at, uint64_t bytes)
{
    bool full = false;
    if (!g->actor.known)
        return sett__no_memory(g->core, g->actor.w, s->op);
    if (g->before)
        sett__before_meets(g->before, &g->waits, &g->fenced, &g->actor, s, at, bytes);
    if (sett__cells_touch(g->cells, &g->use, s, at, bytes, &full))
        return true;
    return full && sett__no_memory(g->core, g->actor.w, s->op);
}

/* Lanes from `first` on that lie one after another, or all at one place. Returns them as a mask, *each: bytes from one to the next. */
static uint32_t run_of(const sett__accesses *a, uint32_t left, uint16_t *each)
{
    const int first = __builtin_ctz(left);
    uint32_t run = 1u << first;
    int l = first + 1;
    for (; l < WARP && left >> l & 1 && a->at[l] == a->at[l - 1] + a->bytes; l++)
        run |= 1u << l;
    *each = (uint16_t)(l > first + 1 ? a->bytes : 0);
    if (l > first + 1 || a->bytes > UINT16_MAX)
        return run;
    for (uint32_t m = left; m; m &= m - 1)
        if (a->at[__builtin_ctz(m)] == a->at[first])
            run |= 1u << __builtin_ctz(m);
    return run;
}

/* Lanes of one store that write one place: they all write the same, or race. */
static bool one_value(const sett__accesses *a, uint32_t lanes)
{
    const sett__insn *i = a->insn;
    const sett__ref value = i->access.value;
    const unsigned char *from = sett__at(a->warp, value);
    const size_t size = (size_t)1 << i->lg;
    const int first = __builtin_ctz(lanes);
    for (uint32_t e = 0; e < i->n; e++)
        for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1) {
            const unsigned char *row = from + (value & SETT__REF_SPLAT ? 0 : e * WARP * size);
            if (memcmp(row + (size_t)first * size, row + (size_t)__builtin_ctz(m) * size, size))
                return false;
        }
    return true;
}

static bool touch_lanes(sett__global *g, sett__stamp *s)
{
    const sett__accesses *a = g->of;
    const uint32_t from = a->lanes >> __builtin_ctz(a->lanes);
    if (a->row && !(from & (from + 1)) && from > 1) {
        s->lane = (uint8_t)__builtin_ctz(a->lanes);
        g->actor.lanes = a->lanes;
        s->base = (uint32_t)a->at[s->lane];
        s->each = (uint16_t)a->bytes;
        return touch(g, s, a->at[s->lane], (uint64_t)a->bytes * (uint32_t)__builtin_popcount(from));
    }
    for (uint32_t left = a->lanes, run; left; left &= ~run) {
        const int first = __builtin_ctz(left);
        run = run_of(a, left, &s->each);
        s->base = (uint32_t)a->at[first];
        g->actor.lanes = run;
        s->lane = !s->each && run & (run - 1) ? SETT__ALL_LANES : (uint8_t)first;
        const uint64_t bytes = s->each ? (uint64_t)a->bytes * (uint32_t)__builtin_popcount(run) : a->bytes;
        if (s->lane == SETT__ALL_LANES && s->how == SETT__WRITE && (g->strict || !one_value(a, run)))
            report(g, SETT_CHECK_RACE, s, s, a->at[first], NULL);
        if (!touch(g, s, a->at[first], bytes))
            return false;
    }
    return true;
}

/* What a strong access orders: word by word. */
static bool tell_words(sett__global *g, const sett__stamp *s, uint8_t sem, bool reads)
{
    const sett__accesses *a = g->of;
    for (uint32_t left = a->lanes, lanes; left; left &= ~lanes) {
        const uintptr_t at = a->at[__builtin_ctz(left)];
        const sett__strong x = {.word = a->of ? (uintptr_t)a->of->shared + at : at, .home = a->of ? s->domain : 0, .when = s->when, .how = s->how & SETT__UPDATE, .sem = sem, .scope = s->scope};
        lanes = 0;
        for (uint32_t m = left; m; m &= m - 1)
            lanes |= a->at[__builtin_ctz(m)] == at ? m & -m : 0;
        actor_of(g, a->warp, lanes, a->op);
        if (reads ? s->how & SETT__READ && !sett__words_read(g->words, &g->actor, &x) : s->how & SETT__WRITE && !sett__words_write(g->words, &g->actor, &x))
            return sett__no_memory(g->core, a->warp, a->op);
    }
    return true;
}

/* Lanes that know the same, of a warp in which some have learned what others have not. */
static bool touch_alike(sett__global *g, sett__stamp *s, const sett__accesses *a)
{
    const walker *x = sett__walker(g->near, g->core, a->warp);
    const uint32_t apart = x->more ? a->lanes & x->more_lanes : 0;
    bool fine = true;
    if (!apart || apart == a->lanes) {
        actor_of(g, a->warp, a->lanes, a->op);
        s->epoch = g->actor.time;
        return touch_lanes(g, s);
    }
    sett__accesses part = *a;
    part.row = false;
    g->of = &part;
    for (int k = 0; k < 2 && fine; k++) {
        part.lanes = k ? apart : a->lanes & ~apart;
        if (!part.lanes)
            continue;
        actor_of(g, a->warp, part.lanes, a->op);
        s->epoch = g->actor.time;
        fine = touch_lanes(g, s);
    }
    g->of = a;
    return fine;
}

bool sett__global_accesses(sett__core *c, near *n, sett__global *g, const sett__accesses *a)
{
    const sett__tape *t = c->program->given;
    const sett__op *o = &t->op[a->op];
    const bool atom = sett__ops[o->code].cls == SETT__C_ATOM, strong = atom || is_volatile(t, o), copies = o->code == SETT__CPASYNC;
    if (strong)
        sett__mingle(c, a->warp);
    if (a->of && !(strong && g->words))
        return true;
    g->core = c;
    g->near = n;
    g->of = a;
    sett__stamp s = {.domain = (uint32_t)c->cta->number + 1, .op = a->op, .agent = (uint16_t)sett__agent(n, copies ? OF_CP_ASYNC : OF_WARP, c->cta->rank, a->warp->index),
        .how = (uint8_t)(a->how | (copies ? SETT__BY_ITSELF : 0))};
    uint8_t sem = SETT_SEM_RELAXED;
    if (strong) {
        const uint8_t scope = atom ? (uint8_t)sett__attr(t->arg, o, SETT__AT_ATOM_SCOPE) : SETT_SCOPE_SYS;
        s.how |= SETT__STRONG;
        s.when = ++g->strong;
        s.scope = scope != SETT_SCOPE_DEFAULT ? scope : !a->of ? SETT_SCOPE_GPU : a->of == c->cta ? SETT_SCOPE_CTA : SETT_SCOPE_CLUSTER;
        s.width = a->insn->lg;
        sem = atom ? (uint8_t)sett__attr(t->arg, o, SETT__AT_ATOM_ORDER) : SETT_SEM_RELAXED;
    }
    if ((strong && g->words && !tell_words(g, &s, sem, true)) || (!a->of && !touch_alike(g, &s, a)))
        return false;
    if (g->words && !strong && !a->of && a->how & SETT__WRITE && sett__words_used(g->words))
        for (uint32_t m = a->lanes; m; m &= m - 1)
            sett__words_plain(g->words, a->at[__builtin_ctz(m)], a->bytes);
    return !strong || !g->words || tell_words(g, &s, sem, false);
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */
/* A copy is about to begin by a map in memory, or a thread acquires one. False: out of memory. */
static bool tell_map(sett__global *g, const sett__effect *e)
{
    uintptr_t where;
    const uintptr_t at = (uintptr_t)e->p;
    const sett__stamp *by = sett__cells_used(g->cells, at, SETT__MAP_BYTES, SETT__WRITE, &where);
    if (e->how) {
        sett__map_used(g->acquires, g->core->launch->check->maps, by, &g->actor, at);
        g->map.w = e->warp, g->map.op = e->op, g->map.lane = e->lane, g->map.at = at;
        return true;
    }
    const bool own = by && by->domain == g->actor.domain && by->agent == g->actor.agent && !(by->how & SETT__BY_ITSELF);
    return sett__map_acquired(&g->acquires, &g->actor, at, by && (own || order_at(g, by, NULL, where).before) ? by : NULL);
}

/* The copy reads the map somewhen until it has completed. */
static bool map_is_read(sett__core *c, near *n, sett__global *g, const sett__sync *s)
{
    const uintptr_t at = g->map.at;
    const sett__event *e = s->event;
    if (!at || e->warp != g->map.w || e->op != g->map.op || e->lane != g->map.lane)
        return true;
    g->map.at = 0;
    g->core = c;
    g->near = n;
    g->of = NULL;
    actor_of_event(g, e, SETT__READ);
    const sett__stamp x = {.domain = g->actor.domain, .epoch = g->actor.time, .op = e->op, .agent = (uint16_t)g->actor.agent, .lane = (uint8_t)e->lane,
        .how = SETT__READ | SETT__BY_ITSELF, .proxy = SETT__TENSORMAP_PROXY};
    return touch(g, &x, at, SETT__MAP_BYTES);
}

bool sett__global_effect(sett__core *c, near *n, sett__global *g, const sett__effect *e)
{
    const bool reduces = e->agent && e->how == SETT__UPDATE;
    g->core = c;
    g->near = n;
    g->of = NULL;
    if (e->proxy == SETT__TENSORMAP_PROXY) {
        actor_of(g, e->warp, 1u << e->lane, e->op);
        return tell_map(g, e) || sett__no_memory(c, e->warp, e->op);
    }
    if (c->event)
        actor_of_event(g, c->event, e->how);
    else
        actor_of(g, e->warp, 1u << e->lane, e->op);
    const sett__stamp s = {.domain = g->actor.domain, .epoch = g->actor.time, .op = e->op, .agent = (uint16_t)g->actor.agent, .lane = (uint8_t)e->lane,
        .how = (uint8_t)(e->how | (reduces ? SETT__STRONG : 0) | (e->agent ? SETT__BY_ITSELF : 0)), .proxy = e->proxy, .scope = SETT_SCOPE_GPU};
    return touch(g, &s, (uintptr_t)e->p, e->bytes);
}

/* ---- fences, and ends -------------------------------------------------------------------------------------------------------- */
/* The next launch begins when each block has let it: before any of them has waited, if all did so early. */
static void note_release(sett__core *c, near *n, sett__global *g, const sett__sync *s)
{
    g->core = c;
    g->near = n;
    actor_of(g, s->warp, s->lanes, s->op);
    if (sett__grid_behind(&g->waits, &g->actor))
        return;
    g->early += g->last_early != g->actor.domain;
    g->last_early = g->actor.domain;
}

bool sett__global_sync(sett__core *c, near *n, sett__global *g, const sett__sync *s)
{
    const sett__tape *t = c->program->given;
    if (s->what == SETT__GRID_WAITED && g->before) {
        g->core = c;
        g->near = n;
        actor_of(g, s->warp, s->lanes, s->op);
        return sett__grid_waited(&g->waits, &g->actor) || sett__no_memory(c, s->warp, s->op);
    }
    if (s->what == SETT__PROXY_FENCED && g->before && sett__fences_global(t, s->op)) {
        g->core = c;
        g->near = n;
        actor_of(g, s->warp, s->lanes, s->op);
        if (sett__grid_behind(&g->waits, &g->actor) && !sett__grid_waited(&g->fenced, &g->actor))
            return sett__no_memory(c, s->warp, s->op);
    }
    if (s->what == SETT__EVENT_BEGINS)
        return map_is_read(c, n, g, s);
    if (s->what == SETT__GRID_RELEASES)
        note_release(c, n, g, s);
    if (!g->words)
        return true;
    if (s->what == SETT__CLUSTER_BEGINS)
        sett__words_begin(g->words, n->blocks);
    if (s->what == SETT__BLOCK_ENDS)
        sett__words_left(g->words, (uint32_t)s->of->number + 1, n->blocks);
    if (s->what != SETT__MEMORY_FENCED)
        return true;
    const uint8_t scope = (uint8_t)sett__attr(t->arg, &t->op[s->op], SETT__AT_FENCE_SCOPE);
    g->core = c;
    g->near = n;
    actor_of(g, s->warp, s->lanes, s->op);
    bool fine = sett__words_fence(g->words, &g->actor, scope);
    actor_of(g, s->warp, s->lanes, s->op);
    return (fine && sett__words_fenced(g->words, &g->actor, scope)) || sett__no_memory(c, s->warp, s->op);
}

/* ---- a launch ------------------------------------------------------------------------------------------------------------------ */
sett__global *sett__global_make(const sett__core *c, const sett__program *p)
{
    bool learns, tells;
    sett__global *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    ask_tape(p->given, &learns, &tells);
    g->strict = c->launch->check->to.checks == SETT_CHECKS_STRICT;
    g->before = c->launch->check->before;
    g->cells = sett__cells_make(c->launch->extent, p->given->sig.n_param);
    g->words = learns && tells ? sett__words_make(true) : NULL;
    g->use = (sett__cells_use){.meet = meet, .before = before, .with = g, .alone = !(learns && tells)};
    if (g->cells && (g->words || !(learns && tells)))
        return g;
    sett__global_free(g);
    return NULL;
}

void sett__global_free(sett__global *g)
{
    if (!g)
        return;
    sett__grid_waits_end(&g->waits);
    sett__grid_waits_end(&g->fenced);
    sett__map_acquires_free(g->acquires);
    sett__cells_free(g->cells);
    sett__words_free(g->words);
    free(g);
}

struct sett__before *sett__global_end(sett__global *g, const sett__program *p, const sett__sim_launch *l)
{
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    sett__cells *cells = g->cells;
    g->cells = NULL;
    return sett__before_make(p, l, cells, g->early == blocks / sett__cluster_blocks(l));
}
