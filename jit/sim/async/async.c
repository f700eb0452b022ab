/* SPDX-License-Identifier: Apache-2.0 */
/* Events: what goes on by itself in a cluster, part by part, when the policy chooses. */
#include "async.h"
#include <stdlib.h>
#include <string.h>

/* ---- one event ----------------------------------------------------------------------------------- */
sett__event *sett__event_make(sett__core *c, sett__warp *w, const sett__insn *i, int lane, sett__event_fn part, uint32_t parts, size_t bytes)
{
    sett__event *e = malloc(sizeof *e + bytes);
    if (!e) {
        sett__fault_as(c, SETT_E_MEMORY, w, lane, i->op, "out of memory for what goes on by itself");
        return NULL;
    }
    memset(e, 0, sizeof *e);
    e->part = part;
    e->parts = (uint8_t)parts;
    e->cta = c->cta;
    e->warp = w;
    e->lane = lane;
    e->op = i->op;
    e->bytes = bytes;
    e->number = c->cta->cluster->issued++;
    return e;
}

void sett__note_order(sett__cluster *k, uint64_t what)
{
    uint64_t mix = k->order ^ what << 32 ^ k->turns;
    k->order = sett__random(&mix);
}

/* The next part. */
static bool step(sett__core *c, sett__event *e)
{
    sett__cta *was = c->cta;
    sett__cluster *k = was->cluster;
    sett__note_order(k, (uint64_t)e->number << 1 | e->done);
    k->moves++;
    sett__cta_turn_to(c, e->cta);
    c->event = e;
    bool fine = e->part(c, e, e->done++) && sett__tell_sync(c, (sett__sync){.what = SETT__EVENT_PART, .warp = e->warp, .lanes = 1u << e->lane, .op = e->op, .n = e->done - 1});
    if (fine && e->done == e->parts)
        fine = sett__tell_sync(c, (sett__sync){.what = SETT__EVENT_ENDS, .warp = e->warp, .lanes = 1u << e->lane, .op = e->op});
    c->event = NULL;
    sett__cta_turn_to(c, was);
    return fine;
}

static void take_out(sett__cluster *k, uint32_t at)
{
    free(k->event[at]);
    k->n_event--;
    memmove(k->event + at, k->event + at + 1, (k->n_event - at) * sizeof *k->event);
}

static bool one_at(sett__core *c, uint32_t at)
{
    sett__cluster *k = c->cta->cluster;
    bool fine = step(c, k->event[at]);
    if (k->event[at]->done == k->event[at]->parts)
        take_out(k, at);
    return fine;
}

/* The product of a warp group happens in all four warps at once: one of them may tell others that its matrices have been read. */
static bool step_at(sett__core *c, uint32_t at)
{
    const sett__cluster *k = c->cta->cluster;
    const sett__event *e = k->event[at];
    const sett__cta *cta = e->cta;
    const uint32_t group = e->warp->index / SETT__GROUP, nth = e->nth;
    bool fine = true;
    if (e->kind != SETT__EVENT_WGMMA)
        return one_at(c, at);
    for (uint32_t n = 0; n < k->n_event && fine;) {
        e = k->event[n];
        if (e->kind == SETT__EVENT_WGMMA && e->cta == cta && e->warp->index / SETT__GROUP == group && e->nth == nth)
            fine = one_at(c, n);
        else
            n++;
    }
    return fine;
}

/* A product is of all warps of its group. */
static bool can_happen(const sett__event *e)
{
    return e->kind != SETT__EVENT_WGMMA || !sett__wgmma_missing(e->cta, e->warp, e->nth);
}

/* Oldest first: what the last warp of a group has come for. */
static bool happen_at_once(sett__core *c)
{
    const sett__cluster *k = c->cta->cluster;
    for (uint32_t at = 0; at < k->n_event;)
        if (!can_happen(k->event[at]))
            at++;
        else if (!step_at(c, at))
            return false;
    return true;
}

bool sett__event_begin(sett__core *c, sett__event *e)
{
    enum { MOST_UNDER_WAY = 512 }; /* of a policy that is not eager */
    sett__cluster *k = c->cta->cluster;
    if (!sett__grow(NULL, (void **)&k->event, &k->cap_event, k->n_event + 1, sizeof(sett__event *))) {
        sett__fault_as(c, SETT_E_MEMORY, e->warp, e->lane, e->op, "out of memory for what goes on by itself");
        free(e);
        return false;
    }
    k->event[k->n_event++] = e;
    k->moves++;
    if (!sett__tell_sync(c, (sett__sync){.what = SETT__EVENT_BEGINS, .warp = e->warp, .lanes = 1u << e->lane, .op = e->op, .event = e}))
        return false;
    if (c->launch->async.policy == SETT__ASYNC_EAGER)
        return happen_at_once(c);
    return k->n_event <= MOST_UNDER_WAY || !sett__events_can(k) || sett__events_push(c);
}

/* ---- which is next ---------------------------------------------------------------------------------- */
static bool group_due(const sett__core *c, const sett__event *e, const sett__insn *i)
{
    uint32_t pending = (uint32_t)sett__form_attr(c, i, SETT__AT_BULKWAIT_PENDING);
    bool read = sett__form_attr(c, i, SETT__AT_BULKWAIT_READ);
    return e->kind == SETT__EVENT_STORE && e->warp->active >> e->lane & 1 && e->group + pending < e->warp->apart.groups[e->lane] && !(read && e->done);
}

static bool product_due(const sett__core *c, const sett__event *e, const sett__insn *i)
{
    uint32_t pending = (uint32_t)sett__form_attr(c, i, SETT__AT_WGWAIT_PENDING);
    return e->kind == SETT__EVENT_WGMMA && e->group + pending < e->warp->apart.committed;
}

/* By the operation that waits for groups. */
typedef bool (*due_fn)(const sett__core *, const sett__event *, const sett__insn *);
static const due_fn due_at[SETT__N_CODES] = {
    [SETT__BULKWAIT] = group_due,
    [SETT__WGWAIT] = product_due,
};

/* Does a warp wait for it? */
static bool wanted(const sett__core *c, const sett__event *e)
{
    const sett__cluster *k = c->cta->cluster;
    const sett__warp *own = e->warp;
    if (own->state == SETT__WAITING && own->wait.what == SETT__FOR_EVENTS)
        return due_at[sett__form_op(c, &c->program->code[own->pc])->code](c, e, &c->program->code[own->pc]);
    for (uint32_t r = 0; r < k->n && e->waited; r++) {
        const sett__cta *b = k->cta[r];
        for (uint32_t i = 0; i < b->n_warps && e->ranks >> r & 1; i++)
            if (b->warp[i].state != SETT__RUNNING && b->warp[i].wait.id == e->mbar &&
                (b->warp[i].wait.what == SETT__FOR_MBARRIER || b->warp[i].wait.what == SETT__FOR_POLL))
                return true;
    }
    return false;
}

/* From number `at` on, around: one that can happen, and of a warp's products the first; n_event: none can. */
static uint32_t next_of(const sett__cluster *k, uint32_t at)
{
    uint32_t n = 0, first = 0;
    while (n < k->n_event && !can_happen(k->event[at]))
        n++, at = (at + 1) % k->n_event;
    if (n == k->n_event || k->event[at]->kind != SETT__EVENT_WGMMA)
        return n == k->n_event ? n : at;
    while (k->event[first]->kind != SETT__EVENT_WGMMA || k->event[first]->warp != k->event[at]->warp)
        first++;
    return first;
}

bool sett__event_can(const sett__cluster *k, uint32_t at)
{
    return can_happen(k->event[at]) && next_of(k, at) == at;
}

bool sett__event_step(sett__core *c, uint32_t at)
{
    return step_at(c, at);
}

bool sett__events_can(const sett__cluster *k)
{
    return next_of(k, 0) < k->n_event;
}

bool sett__events_push(sett__core *c)
{
    sett__cluster *k = c->cta->cluster;
    uint32_t at = 0;
    if (c->launch->async.policy == SETT__ASYNC_RANDOM)
        return step_at(c, next_of(k, (uint32_t)(sett__random(&k->random) % k->n_event)));
    while (at < k->n_event && !(wanted(c, k->event[at]) && can_happen(k->event[at])))
        at++;
    return step_at(c, next_of(k, at < k->n_event ? at : 0));
}

bool sett__events_chance(sett__core *c)
{
    enum { ONE_IN = 3 };
    sett__cluster *k = c->cta->cluster;
    if (c->launch->async.policy != SETT__ASYNC_RANDOM)
        return true;
    bool fine = true;
    while (fine && sett__events_can(k) && sett__random(&k->random) % ONE_IN == 0)
        fine = step_at(c, next_of(k, (uint32_t)(sett__random(&k->random) % k->n_event)));
    return fine;
}

/* ---- the end of a block ------------------------------------------------------------------------------- */
/* Its shared memory is gone: nothing may read or write it any more. */
bool sett__events_left(sett__core *c, const sett__cta *b)
{
    const sett__cluster *k = b->cluster;
    for (uint32_t i = 0; i < k->n_event; i++) {
        const sett__event *e = k->event[i];
        bool reads = !e->done && e->reads >> b->rank & 1, writes = e->writes >> b->rank & 1;
        if (!reads && !writes)
            continue;
        sett__cta *was = c->cta;
        sett__cta_turn_to(c, e->cta);
        char block[40] = "the block", where[96];
        if (k->n > 1)
            snprintf(block, sizeof block, "block %u of its cluster", b->rank);
        bool full = writes && e->waited && b->mbar[e->mbar].tx <= 0;
        const uint32_t expects = full ? b->mbar[e->mbar].expects : 0;
        bool on = sett__object(c, e->warp, e->lane, e->op, full ? SETT_CHECK_BARRIER_COUNT : SETT_CHECK_LIFETIME,
            "%s ended before this had %s its shared memory: nothing waited for it%s%s%s\n  fix    a wait for it, by its mbarrier or its group, before the block ends", block, reads ? "read" : "written",
            full ? ", and its mbarrier expects no more bytes" : "", expects ? " than were announced at " : "",
            expects ? sett__where_noted(c, expects - 1, where, sizeof where) : "");
        sett__cta_turn_to(c, was);
        if (!on)
            return false;
    }
    return true;
}

void sett__events_forget(sett__cluster *k)
{
    for (uint32_t i = 0; i < k->n_event; i++)
        free(k->event[i]);
    k->n_event = 0;
}

/* ---- groups ----------------------------------------------------------------------------------- */
bool sett__bulk_commit(sett__core *c, sett__warp *w, const sett__insn *i)
{
    for (int l = 0; l < WARP; l++)
        w->apart.groups[l] += w->active >> l & 1;
    return sett__tell_sync(c, (sett__sync){.what = SETT__BULK_COMMIT, .warp = w, .lanes = w->active, .op = i->op});
}

static bool wait_for(sett__core *c, sett__warp *w, const sett__insn *i, due_fn due, enum sett__sync_what what, int32_t pending)
{
    const sett__cluster *k = c->cta->cluster;
    for (uint32_t at = 0; at < k->n_event; at++)
        if (k->event[at]->warp == w && due(c, k->event[at], i))
            return sett__try_again(w, SETT__FOR_EVENTS, k->event[at]->nth);
    return sett__tell_sync(c, (sett__sync){.what = what, .warp = w, .lanes = w->active, .op = i->op, .n = pending});
}

bool sett__bulk_wait(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return wait_for(c, w, i, group_due, SETT__BULK_WAITED, sett__form_attr(c, i, SETT__AT_BULKWAIT_PENDING));
}

bool sett__wgmma_wait(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__whole_group(c, w, i) && wait_for(c, w, i, product_due, SETT__WGMMA_WAITED, sett__form_attr(c, i, SETT__AT_WGWAIT_PENDING));
}

/* ---- cp.async that arrives ---------------------------------------------------------------------------------- */
typedef struct arrival {
    uint32_t lanes, seen; /* seen: copies of the warp before it */
    sett__mbarrier *at[WARP];
} arrival;

static bool arrive(sett__core *c, sett__event *e, uint32_t part)
{
    (void)part;
    const arrival *a = (const void *)e->data;
    bool fine = true;
    sett__cp_flush(c, e->warp, a->lanes, a->seen);
    for (int l = 0; l < WARP && fine; l++)
        if (a->lanes >> l & 1)
            fine = sett__mbarrier_come(c, e->warp, l, e->op, a->at[l], 1);
    return fine;
}

/* Without noinc the phase waits for this arrival as well. */
bool sett__cp_arrive(sett__core *c, sett__warp *w, const sett__insn *i)
{
    sett__event *e = sett__event_make(c, w, i, __builtin_ctz(w->active), arrive, 1, sizeof(arrival));
    bool noinc = sett__form_attr(c, i, SETT__AT_CPARRIVE_NOINC);
    if (!e)
        return false;
    arrival *a = (void *)e->data;
    *a = (arrival){.lanes = w->active, .seen = sett__cp_seen(w)};
    for (int l = 0; l < WARP; l++) {
        sett__cta *of;
        if (!(w->active >> l & 1))
            continue;
        if (!(a->at[l] = sett__mbarrier_at(c, w, i, 0, l, &of))) {
            free(e);
            return false;
        }
        a->at[l]->pending += !noinc;
        e->mbar = (uint32_t)(a->at[l] - of->mbar);
    }
    e->waited = true;
    e->ranks = (uint16_t)(1u << c->cta->rank);
    return sett__event_begin(c, e);
}
