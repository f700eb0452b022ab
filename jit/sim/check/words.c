/* SPDX-License-Identifier: Apache-2.0 */
#include "news.h"
#include <stdlib.h>
#include <string.h>

enum { MIXED = UINT32_MAX, MOST_STRONGEST = 2048 /* clusters whose news a word keeps to explain what is weak: of more, the last ones' */ };
/* What lanes of a warp know from this epoch on, with what they had learned before. */
typedef struct note {
    uint32_t time, lanes;
    bool all; /* it has what is in all notes before it */
    sett__news *news;
    sett__weak weak;
} note;
typedef struct agent {
    struct { note *note; uint32_t n, cap; sett__news *last; } log[SETT__WAYS]; /* last: what was taken over last */
    struct { uint32_t lanes; uint8_t scope; sett__news *news; } fence; /* what it released */
    struct { uint32_t lanes; sett__news *news; } seen;                 /* by accesses that did not acquire, before a fence */
} agent;
typedef struct domain {
    uint32_t number, n;
    struct domain *next;
    agent *agent;
    uint32_t notes, left; /* left: blocks that have ended */
} domain;
typedef struct look { /* somebody read a word */
    uint32_t domain, agent, lanes, time, when;
} look;
typedef struct word {
    uintptr_t at;
    uint32_t home, op, n_look, cap_look;
    look *look; /* the last of each domain */
    struct word *next;
    sett__news *wide, *narrow, *all;     /* as written, for the device and for less; STRONGEST */
    uint32_t wide_of[2], narrow_of[2]; /* whose: cluster and rank, or MIXED */
    bool released;                 /* by its last write, as written */
} word;
enum { BUCKETS = 1 << 12 };
struct sett__words {
    word *word[BUCKETS];
    domain *domain;
    uint32_t n_word;
    bool explains, over; /* explains: STRONGEST is kept too; over: all blocks of a cluster have ended */
};

/* ---- who and where --------------------------------------------------------------------------------------------------- */
static domain *domain_of(const sett__words *s, uint32_t number)
{
    domain *d = s->domain;
    while (d && d->number != number)
        d = d->next;
    return d;
}

/* A warp's. */
static agent *agent_of(sett__words *s, const sett__actor *a)
{
    const uint32_t warps = a->n->per_block * a->n->blocks;
    domain *d = domain_of(s, a->domain);
    if (!d && (d = calloc(1, sizeof *d))) {
        d->number = a->domain;
        d->next = s->domain;
        s->domain = d;
    }
    if (d && d->n < warps) {
        agent *more = realloc(d->agent, warps * sizeof *more);
        if (!more)
            return NULL;
        memset(more + d->n, 0, (warps - d->n) * sizeof *more);
        d->agent = more;
        d->n = warps;
    }
    return d ? &d->agent[a->agent] : NULL;
}

static size_t bucket(uintptr_t at)
{
    return (at >> 2) * 0x9e3779b1u >> 7 & (BUCKETS - 1);
}

static word *word_at(const sett__words *s, uintptr_t at)
{
    word *w = s->word[bucket(at)];
    while (w && w->at != at)
        w = w->next;
    return w;
}

static void forget(word *w)
{
    sett__news_drop(w->wide);
    sett__news_drop(w->narrow);
    sett__news_drop(w->all);
    w->wide = w->narrow = w->all = NULL;
    w->wide_of[0] = w->narrow_of[0] = 0;
    w->released = false;
}

static word *word_of(sett__words *s, const sett__strong *x)
{
    word *w = word_at(s, x->word);
    if (w && w->home != x->home) {
        forget(w);
        w->n_look = 0;
    }
    if (!w && (w = calloc(1, sizeof *w))) {
        w->at = x->word;
        w->next = s->word[bucket(x->word)];
        s->word[bucket(x->word)] = w;
        s->n_word++;
    }
    if (w)
        w->home = x->home;
    return w;
}

/* ---- what is known ----------------------------------------------------------------------------------------------------- */
static uint32_t a_lane(uint32_t lanes)
{
    return (uint32_t)__builtin_ctz(lanes);
}

static int clock_of(int way)
{
    return way == SETT__WRITTEN ? BEFORE : STRONGER;
}

/* The last note of warp `at` that the actor is ordered behind; behind: the one that was found before it, or NULL. NULL: no other one tells more. */
static const note *visible(const agent *g, int way, uint32_t at, const sett__actor *a, const note *behind)
{
    const uint32_t self = sett__agent(a->n, OF_WARP, a->rank, a->w->index); /* a copy's thread knew it when it began the copy */
    for (uint32_t i = !behind ? g->log[way].n : behind->all ? 0 : (uint32_t)(behind - g->log[way].note); i-- > 0;) {
        const note *x = &g->log[way].note[i];
        if ((at == self && x->lanes & a->lanes && x->time <= a->time) || sett__covers(a->n, a->known, clock_of(way), at, a_lane(x->lanes), x->time))
            return x;
    }
    return NULL;
}

/* All that the actor knows, and what it did: what it releases. */
static sett__news *gather(const sett__words *s, int way, const sett__actor *a, const sett__weak *weak)
{
    const domain *d = domain_of(s, a->domain);
    sett__news *k = sett__news_make();
    clocks *now = NULL;
    sett__past *own = k && sett__release(a->n, a->c, a->w, a->lanes, &now, false) ? sett__past_of(a->n, now) : NULL;
    sett__clocks_drop(a->n, now);
    bool fine = own && sett__news_put(k, &(sett__item){.domain = a->domain, .past = own, .weak = *weak});
    sett__past_drop(own);
    for (uint32_t w = 0; d && d->notes && w < d->n; w++)
        for (const note *x = NULL; fine && (x = visible(&d->agent[w], way, w, a, x));)
            for (uint32_t i = 0; i < x->news->n && fine; i++) {
                sett__item y = x->news->item[i];
                if (x->weak.why && (!y.weak.why || y.weak.why == SETT__EARLY_FENCE))
                    y.weak = x->weak;
                fine = sett__news_put(k, &y);
            }
    if (fine)
        return k;
    sett__news_drop(k);
    return NULL;
}

/* Of the own cluster. */
static bool learn_own(const sett__actor *a, int way, uint32_t lanes, const sett__past *p)
{
    const size_t part = p->part, stronger = (size_t)STRONGER * p->stride;
    clocks *k = p->stride == a->n->stride ? sett__clocks_new(a->n, NULL) : NULL;
    if (!k)
        return p->stride != a->n->stride;
    for (size_t i = 0; i < 3; i++)
        if (way == SETT__WRITTEN)
            memcpy(k->at + i * part, p->at + i * part, part * sizeof *k->at);
        else
            memcpy(k->at + i * part + stronger, p->at + i * part + stronger, p->stride * sizeof *k->at);
    const bool fine = sett__acquire(a->n, a->c, a->w, lanes, k, a->op);
    sett__clocks_drop(a->n, k);
    return fine;
}

static void drop_last(agent *g, int way, sett__news *now)
{
    sett__news_drop(g->log[way].last);
    g->log[way].last = sett__news_hold(now);
}

/* The actor's warp takes news over. */
static bool learn(sett__words *s, int way, const sett__actor *a, uint32_t lanes, sett__news *what, const sett__weak *weak)
{
    agent *g = agent_of(s, a);
    if (!what || !g)
        return g;
    const sett__item *home = sett__news_find(what, a->domain);
    note *last = g->log[way].n ? &g->log[way].note[g->log[way].n - 1] : NULL;
    if (last && g->log[way].last == what && last->lanes == lanes)
        return true;
    if (home && !learn_own(a, way, lanes, home->past))
        return false;
    drop_last(g, way, what);
    if (what->n == 1 && home)
        return true;
    if (!sett__grow(NULL, (void **)&g->log[way].note, &g->log[way].cap, g->log[way].n + 1, sizeof(note)))
        return false;
    note *x = &g->log[way].note[g->log[way].n];
    *x = (note){.time = a->n->time, .lanes = lanes, .weak = *weak};
    const note *old = g->log[way].n ? x - 1 : NULL;
    x->all = !old;
    if (old && (!(lanes & ~old->lanes) || sett__covers(a->n, a->known, clock_of(way), a->agent, a_lane(old->lanes), old->time)))
        x->all = old->all, x->news = sett__news_hold(old->news);
    if (!sett__news_join(&x->news, what)) {
        sett__news_drop(x->news);
        return false;
    }
    g->log[way].n++;
    domain_of(s, a->domain)->notes++;
    return true;
}

/* ---- scopes --------------------------------------------------------------------------------------------------------------- */
static bool is_wide(uint8_t scope)
{
    return scope == SETT_SCOPE_GPU || scope == SETT_SCOPE_SYS;
}

static uint8_t narrower(uint8_t a, uint8_t b)
{
    static const uint8_t reach[] = {[SETT_SCOPE_CTA] = 0, [SETT_SCOPE_CLUSTER] = 1, [SETT_SCOPE_GPU] = 2, [SETT_SCOPE_SYS] = 3};
    return reach[a] < reach[b] ? a : b;
}

/* Of the word's news, those that an access of this scope may have: whose threads it includes, and who include it. */
static bool reaches(const uint32_t of[2], const sett__actor *a, uint8_t scope)
{
    return is_wide(scope) || (of[0] == a->domain && (scope == SETT_SCOPE_CLUSTER || of[1] == a->rank));
}

static void owner(uint32_t of[2], const sett__actor *a)
{
    of[1] = of[0] && (of[0] != a->domain || of[1] != a->rank) ? MIXED : a->rank;
    of[0] = of[0] && of[0] != a->domain ? MIXED : a->domain;
}

/* ---- who has seen what is written -------------------------------------------------------------------------------------------- */
static bool note_look(word *w, const sett__actor *a, uint32_t when)
{
    enum { MOST = 1 << 12 };
    uint32_t i = w->n_look;
    while (i && w->look[i - 1].domain != a->domain)
        i--;
    if (!i) {
        if (w->n_look == MOST) /* the older half goes */
            memmove(w->look, w->look + MOST / 2, (w->n_look = MOST / 2) * sizeof *w->look);
        if (!sett__grow(NULL, (void **)&w->look, &w->cap_look, w->n_look + 1, sizeof *w->look))
            return false;
        i = ++w->n_look;
    }
    w->look[i - 1] = (look){a->domain, a->agent, a->lanes, a->n->time, when};
    return true;
}

bool sett__words_observed(const sett__words *s, const sett__actor *a, const sett__stamp *old, uintptr_t at)
{
    const word *w = word_at(s, at >> old->width << old->width);
    for (uint32_t i = w ? w->n_look : 0; i-- > 0;)
        if (w->look[i].domain == a->domain)
            return w->look[i].when >= old->when && ((w->look[i].agent == a->agent && w->look[i].lanes & a->lanes) ||
                sett__covers(a->n, a->known, BEFORE, w->look[i].agent, a_lane(w->look[i].lanes), w->look[i].time));
    return false;
}

/* ---- strong accesses -------------------------------------------------------------------------------------------------------- */
bool sett__words_read(sett__words *s, const sett__actor *a, const sett__strong *x)
{
    word *w = word_of(s, x);
    if (!w)
        return false;
    const sett__weak fine = {.op = a->op, .other = w->op, .why = SETT__NOT_WEAK};
    const bool acquires = x->sem == SETT_SEM_ACQUIRE || x->sem == SETT_SEM_ACQ_REL;
    const uint8_t why = acquires && is_wide(x->scope) ? SETT__NOT_WEAK : acquires ? SETT__NARROW_ACQUIRE : SETT__NO_ACQUIRE;
    const sett__weak weak = {.op = a->op, .other = w->op, .why = why};
    sett__news *take[] = {w->wide && reaches(w->wide_of, a, x->scope) ? w->wide : NULL, w->narrow && w->narrow_of[0] == a->domain &&
        reaches(w->narrow_of, a, w->narrow_of[1] == MIXED ? SETT_SCOPE_CLUSTER : SETT_SCOPE_CTA) ? w->narrow : NULL};
    agent *g = agent_of(s, a);
    if (!g || !note_look(w, a, x->when) || !learn(s, SETT__STRONGEST, a, a->lanes, w->all, &weak))
        return false;
    for (int k = 0; k < 2; k++)
        if (take[k] && (acquires ? !learn(s, SETT__WRITTEN, a, a->lanes, take[k], &fine) : !sett__news_join(&g->seen.news, take[k])))
            return false;
    g->seen.lanes |= acquires ? 0 : a->lanes;
    return true;
}

static bool release(word *w, const sett__actor *a, sett__news *what, uint8_t scope)
{
    const bool wide = is_wide(scope);
    w->released = wide;
    if (!wide && w->narrow_of[0] != a->domain) {
        sett__news_drop(w->narrow);
        w->narrow = NULL;
        w->narrow_of[0] = 0;
    }
    owner(wide ? w->wide_of : w->narrow_of, a);
    if (!wide && scope == SETT_SCOPE_CLUSTER)
        w->narrow_of[1] = MIXED;
    return sett__news_join(wide ? &w->wide : &w->narrow, what);
}

bool sett__words_write(sett__words *s, const sett__actor *a, const sett__strong *x)
{
    word *w = word_of(s, x);
    if (!w)
        return false;
    const agent *g = agent_of(s, a);
    const bool releases = x->sem == SETT_SEM_RELEASE || x->sem == SETT_SEM_ACQ_REL, fenced = !releases && g && !(a->lanes & ~g->fence.lanes);
    const uint8_t scope = fenced ? narrower(x->scope, g->fence.scope) : x->scope;
    sett__weak weak = {.op = a->op, .other = a->op, .why = !releases && !fenced ? SETT__NO_RELEASE : !is_wide(scope) ? SETT__NARROW_RELEASE : fenced ? SETT__EARLY_FENCE : SETT__NOT_WEAK};
    const sett__weak none = {.op = a->op, .other = a->op, .why = SETT__NOT_WEAK};
    if (!(x->how & SETT__READ))
        forget(w);
    w->op = a->op;
    w->released = false;
    sett__news *told = !g ? NULL : releases ? gather(s, SETT__WRITTEN, a, &none) : fenced ? sett__news_hold(g->fence.news) : NULL;
    bool fine = g && (told || !(releases || fenced)) && (!told || release(w, a, told, scope));
    sett__news_drop(told);
    if (!fine || !s->explains)
        return fine;
    sett__news *all = gather(s, SETT__STRONGEST, a, &weak);
    fine = all && sett__news_join(&w->all, all);
    sett__news_drop(all);
    return fine && sett__news_cut(&w->all, MOST_STRONGEST);
}

bool sett__words_fence(sett__words *s, const sett__actor *a, uint8_t scope)
{
    const sett__weak fine = {.op = a->op, .other = a->op, .why = SETT__NOT_WEAK};
    agent *g = agent_of(s, a);
    if (!g)
        return false;
    for (uint32_t i = g->log[SETT__STRONGEST].n; i-- > 0 && is_wide(scope) && g->log[SETT__STRONGEST].note[i].weak.why == SETT__NO_ACQUIRE;)
        if (!(g->log[SETT__STRONGEST].note[i].lanes & ~a->lanes))
            g->log[SETT__STRONGEST].note[i].weak = fine;
    if (g->seen.news && g->seen.lanes & a->lanes) {
        const sett__item *home = sett__news_find(g->seen.news, a->domain);
        if (is_wide(scope) ? !learn(s, SETT__WRITTEN, a, g->seen.lanes & a->lanes, g->seen.news, &fine) : home && !learn_own(a, SETT__WRITTEN, a->lanes, home->past))
            return false;
    }
    return true;
}

bool sett__words_fenced(sett__words *s, const sett__actor *a, uint8_t scope)
{
    static const sett__weak fine = {.why = SETT__NOT_WEAK};
    agent *g = agent_of(s, a);
    sett__news *now = g ? gather(s, SETT__WRITTEN, a, &fine) : NULL;
    if (!now)
        return false;
    const bool others = g->fence.lanes & ~a->lanes && g->fence.scope == scope; /* who fenced before is still there */
    if (!others) {
        sett__news_drop(g->fence.news);
        g->fence.news = NULL, g->fence.lanes = 0;
    }
    g->fence.lanes |= a->lanes, g->fence.scope = scope;
    const bool joined = sett__news_join(&g->fence.news, now);
    sett__news_drop(now);
    return joined;
}

void sett__words_plain(sett__words *s, uintptr_t at, uint64_t bytes)
{
    const uintptr_t end = at + bytes;
    if (!s->n_word)
        return;
    if (bytes / 2 > BUCKETS)
        for (size_t b = 0; b < BUCKETS; b++)
            for (word *w = s->word[b]; w; w = w->next)
                if (w->at >= at && w->at < end)
                    forget(w);
    for (; bytes / 2 <= BUCKETS && at < end; at += 2) {
        word *w = word_at(s, at);
        if (w)
            forget(w);
    }
}

/* ---- the question ------------------------------------------------------------------------------------------------------------- */
static bool covers(const sett__past *p, int clock, const sett__stamp *x, uint8_t lane)
{
    const uint32_t *base = p->at + (size_t)clock * p->stride + x->agent, *top = base + p->part, mask = base[2 * p->part];
    return *base >= x->epoch || (*top >= x->epoch && (lane >= WARP ? mask & (mask - 1) : mask >> lane & 1));
}

bool sett__words_before(const sett__words *s, int way, const sett__actor *a, const sett__stamp *old, uint8_t lane, int *fenced, sett__weak weak[SETT__SIDES])
{
    const domain *d = domain_of(s, a->domain);
    const int of = a->n->clocks == CLOCKS ? 0 : GLOBAL;
    bool found = false;
    *fenced = 0;
    for (uint32_t w = 0; d && d->notes && w < d->n; w++)
        for (const note *x = NULL; (x = visible(&d->agent[w], way, w, a, x));) {
            const sett__item *y = sett__news_find(x->news, old->domain);
            if (!y || !covers(y->past, clock_of(way), old, lane))
                continue;
            if (!found)
                weak[SETT__RELEASED] = y->weak, weak[SETT__ACQUIRED] = x->weak;
            if (!found && y->weak.why == SETT__EARLY_FENCE && x->weak.why) /* the fence is early for what came behind it alone */
                weak[SETT__RELEASED].why = SETT__NOT_WEAK;
            found = true;
            const int now = covers(y->past, OWN_FENCE + of, old, lane) ? 2 :
                covers(y->past, FENCED + of, old, lane) || sett__covers(a->n, a->known, FENCED + of, w, a_lane(x->lanes), x->time);
            *fenced = now > *fenced ? now : *fenced;
        }
    return found;
}

bool sett__words_knower(const sett__words *s, const sett__actor *a, const sett__stamp *old, uint8_t lane, uint32_t *by, uint32_t *lanes, uint32_t *op)
{
    const domain *d = domain_of(s, a->domain);
    for (uint32_t w = 0; d && w < d->n; w++)
        for (uint32_t i = 0; i < d->agent[w].log[SETT__WRITTEN].n; i++) {
            const note *x = &d->agent[w].log[SETT__WRITTEN].note[i];
            const sett__item *y = sett__news_find(x->news, old->domain);
            if (!y || !covers(y->past, BEFORE, old, lane))
                continue;
            *by = w, *lanes = x->lanes, *op = x->weak.op;
            return true;
        }
    return false;
}

/* It was released after that access of its cluster: some of what it knows is younger. */
static bool is_younger(const sett__past *p, uint32_t epoch)
{
    const uint32_t *base = p->at + (size_t)BEFORE * p->stride, *top = base + (size_t)CLOCKS * p->stride;
    for (uint32_t i = 0; i < p->stride; i++)
        if (base[i] >= epoch || top[i] >= epoch)
            return true;
    return false;
}

bool sett__words_missed(const sett__words *s, const sett__actor *a, const sett__stamp *old, uint32_t *op)
{
    const domain *d = domain_of(s, a->domain);
    for (uint32_t w = 0; d && w < d->n; w++)
        for (const note *x = NULL; (x = visible(&d->agent[w], SETT__WRITTEN, w, a, x));) {
            const sett__item *y = sett__news_find(x->news, old->domain);
            if (!y || !is_younger(y->past, old->epoch))
                continue;
            *op = y->weak.op;
            return true;
        }
    return false;
}

bool sett__words_used(const sett__words *s)
{
    return s->n_word;
}

/* ---- from beginning to end ------------------------------------------------------------------------------------------------------ */
sett__words *sett__words_make(bool explains)
{
    sett__words *s = calloc(1, sizeof *s);
    if (s)
        s->explains = explains;
    return s;
}

static void free_domain(domain *d)
{
    for (uint32_t w = 0; w < d->n; w++) {
        agent *g = &d->agent[w];
        for (int way = 0; way < SETT__WAYS; way++) {
            for (uint32_t i = 0; i < g->log[way].n; i++)
                sett__news_drop(g->log[way].note[i].news);
            sett__mem_free(NULL, g->log[way].note);
            sett__news_drop(g->log[way].last);
        }
        sett__news_drop(g->fence.news);
        sett__news_drop(g->seen.news);
    }
    free(d->agent);
    free(d);
}

/* Copies of a block that has ended may still go on, until the next cluster begins. */
void sett__words_left(sett__words *s, uint32_t number, uint32_t blocks)
{
    domain *d = domain_of(s, number);
    if (d)
        s->over |= ++d->left == blocks;
}

void sett__words_begin(sett__words *s, uint32_t blocks)
{
    for (domain **at = &s->domain, *d; s->over && (d = *at);) {
        if (d->left < blocks) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        free_domain(d);
    }
    s->over = false;
}

void sett__words_free(sett__words *s)
{
    for (size_t b = 0; s && b < BUCKETS; b++)
        for (word *w = s->word[b], *next; w; w = next) {
            next = w->next;
            forget(w);
            sett__mem_free(NULL, w->look);
            free(w);
        }
    for (domain *d = s ? s->domain : NULL, *next; d; d = next) {
        next = d->next;
        free_domain(d);
    }
    free(s);
}
