/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a cluster: all of them are resident together, and take turns on one worker. What waits is tried again in each turn.
 * Where none of them goes on, an event happens; where there is none, those that try give up; where that helps nobody, they stand
 * still for ever. */
#include "async.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STUCK = 1 << 12, MOST_COUNTED = 1 << 22, MOST_CHECKED = 1 << 16 }; /* times in a row that all give up; in loops that may count them */

/* ---- its beginning and end --------------------------------------------------------------------------------- */
/* Registers of a thread at its beginning: a multiple of 8 below 256, as setmaxnreg counts. */
static uint32_t first_registers(const sett__program *p, uint32_t warps)
{
    enum { MOST = 248 };
    return sett__least(MOST, (uint32_t)sett__round_up(sett__sig_registers(&p->tape->sig, warps * WARP), 8));
}

sett__cta *sett__cluster_make(sett__core *c, const sett__program *p)
{
    sett__cluster *k = calloc(1, sizeof *k);
    uint32_t n = sett__cluster_blocks(c->launch);
    for (int d = 0; d < 3 && k; d++)
        k->dim[d] = c->launch->cluster[d] ? c->launch->cluster[d] : 1;
    for (; k && k->n < n; k->n++) {
        sett__cta *b = sett__block_make(c, p);
        if (!b || !(b->mbar = calloc((size_t)p->n_mbar + 1, sizeof *b->mbar)) || !sett__granules_make(c, b)) {
            if (b)
                free(b->mbar);
            sett__block_free(b);
            sett__cluster_free(k);
            return NULL;
        }
        b->cluster = k;
        b->rank = k->n;
        k->cta[k->n] = b;
    }
    if (k)
        sett__cta_turn_to(c, k->cta[0]);
    return k ? k->cta[0] : NULL;
}

void sett__cluster_free(sett__cluster *k)
{
    sett__events_forget(k);
    sett__mem_free(NULL, k->event);
    for (uint32_t r = 0; r < k->n; r++) {
        free(k->cta[r]->mbar);
        free(k->cta[r]->granule);
        k->cta[r]->cluster = NULL;
        sett__block_free(k->cta[r]);
    }
    free(k);
}

/* Number `number` of the grid's clusters: its blocks lie beside each other, x first. */
void sett__cluster_place(sett__core *c, uint64_t number)
{
    sett__cluster *k = c->cta->cluster;
    const uint32_t *g = c->launch->grid;
    for (uint32_t r = 0; r < k->n; r++) {
        uint64_t rest = number;
        uint32_t at = r;
        k->cta[r]->number = number;
        for (int d = 0; d < 3; d++) {
            uint32_t many = g[d] / k->dim[d];
            k->cta[r]->at[d] = (uint32_t)(rest % many) * k->dim[d] + at % k->dim[d];
            rest /= many, at /= k->dim[d];
        }
    }
}

static void begin_block(sett__core *c, sett__cta *b)
{
    const uint32_t registers = first_registers(b->program, b->n_warps);
    sett__cta_turn_to(c, b);
    b->left = false;
    b->registers = 0;
    b->known = 0;
    b->touched = (sett__touched){.when = 0};
    memset(b->mbar, 0, b->program->n_mbar * sizeof *b->mbar);
    if (b->granule)
        memset(b->granule, 0, b->n_granule * sizeof *b->granule);
    for (uint32_t i = 0; i < b->n_warps; i++) {
        memset(&b->warp[i].apart, 0, sizeof b->warp[i].apart);
        b->warp[i].apart.registers = registers;
    }
    sett__tell_sync(c, (sett__sync){.what = SETT__BLOCK_BEGINS, .of = b});
    sett__block_begin(c);
}

void sett__cluster_begin(sett__core *c)
{
    sett__cluster *k = c->cta->cluster;
    sett__events_forget(k);
    k->issued = k->stuck = 0;
    k->moves = k->turns = k->order = 0;
    k->mingled = 0, k->steps = 1, k->went = NULL;
    k->sleeper = NULL;
    k->arrived = k->met = false;
    k->touches = k->gathered = 0;
    k->epoch = 1, k->fences = 0;
    memset(k->changed, 0, sizeof k->changed);
    k->random = c->launch->async.seed ^ c->cta->number << 32;
    sett__tell_sync(c, (sett__sync){.what = SETT__CLUSTER_BEGINS, .of = k->cta[0]});
    for (uint32_t r = k->n; r-- > 0;)
        begin_block(c, k->cta[r]);
}

/* ---- turns -------------------------------------------------------------------------------------------------- */
static bool may_go_on(const sett__warp *w)
{
    return w->state == SETT__RUNNING || w->state == SETT__PAUSED || (w->state == SETT__WAITING && w->wait.what >= SETT__FOR_MBARRIER);
}

/* All warps at one barrier go on from it. */
static bool release_barrier(sett__core *c, sett__cta *b)
{
    for (uint32_t i = 0; i < b->n_warps; i++) {
        const sett__warp *w = &b->warp[i];
        if (w->state != SETT__WAITING || w->wait.what != SETT__FOR_BARRIER || w->wait.id || w->pc != b->warp->pc)
            return true;
    }
    for (uint32_t i = 0; i < b->n_warps; i++)
        b->warp[i].state = SETT__RUNNING;
    b->cluster->moves++;
    return sett__tell_sync(c, (sett__sync){.what = SETT__BARRIER_MET, .op = c->program->code[b->warp->pc - 1].op, .of = b});
}

static bool end_block(sett__core *c, sett__cta *b)
{
    for (uint32_t i = 0; i < b->n_warps; i++)
        if (b->warp[i].state != SETT__DONE)
            return true;
    b->left = true;
    b->cluster->moves++;
    b->cluster->arrived = true; /* who ended has arrived */
    return sett__tell_sync(c, (sett__sync){.what = SETT__BLOCK_ENDS, .of = b}) && sett__events_left(c, b) && sett__peers_left(c, b) && sett__groups_left(c, b);
}

static bool run_block(sett__core *c, sett__cta *b, uint32_t first)
{
    sett__cluster *k = b->cluster;
    for (uint32_t i = 0; i < b->n_warps && !b->left; i++) {
        sett__warp *w = &b->warp[(first + i) % b->n_warps];
        if (!may_go_on(w) || w == k->sleeper)
            continue;
        sett__cta_turn_to(c, b);
        k->turns++;
        if ((c->program->follow ? sett__exec_followed : sett__exec)(c, w) == SETT__FAULTED || !sett__events_chance(c))
            return false;
    }
    return release_barrier(c, b) && (b->left || end_block(c, b));
}

/* With an even seed one warp sleeps now and then: it finds what the others do without it, which may be a phase or two further on. */
static void fall_asleep(const sett__core *c, sett__cluster *k)
{
    enum { ONE_IN = 16 };
    if (c->launch->async.seed % 2 || k->sleeper)
        return;
    const uint64_t any = sett__random(&k->random) >> 8;
    const sett__cta *b = k->cta[any % k->n];
    if ((any >> 8) % ONE_IN == 0)
        k->sleeper = &b->warp[(any >> 16) % b->n_warps];
}

/* Every warp that may go on, once; by a random policy from any of them on. */
static bool run_all(sett__core *c, sett__cluster *k)
{
    const bool random = c->launch->async.policy == SETT__ASYNC_RANDOM;
    uint64_t from = random ? sett__random(&k->random) >> 8 : 0;
    if (random)
        fall_asleep(c, k);
    for (uint32_t i = 0; i < k->n; i++) {
        sett__cta *b = k->cta[(from + i) % k->n];
        if (!run_block(c, b, (uint32_t)(from >> 16) % b->n_warps))
            return false;
    }
    return true;
}

/* ---- an order that is chosen: a warp, or what goes on by itself, at each step ------------------------------------------------- */
/* Others may find something else than in another order: its turn ends, so that any of them may come next. */
void sett__mingle(sett__core *c, const sett__warp *w)
{
    c->cta->cluster->mingled++;
    if (!c->launch->choices || c->event)
        return;
    sett__warp *mine = &c->cta->warp[w->index];
    mine->state = SETT__PAUSED;
    mine->wait = (sett__wait){SETT__FOR_TURN, 0};
}

/* Who asked in vain asks again when something has changed. */
static bool is_candidate(const sett__cluster *k, const sett__warp *w)
{
    return may_go_on(w) && w->apart.tried != k->steps;
}

static uint32_t candidates(const sett__cluster *k)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0; i < k->cta[r]->n_warps; i++)
            n += is_candidate(k, &k->cta[r]->warp[i]);
    for (uint32_t i = 0; i < k->n_event; i++)
        n += sett__event_can(k, i);
    return n;
}

/* Which of so many: what the order says, and behind its end the first. */
static uint32_t choose(sett__choices *p, uint32_t of)
{
    if (p->at == p->n) {
        if (!sett__grow(NULL, (void **)&p->choice, &p->cap, p->n + 1, sizeof *p->choice)) {
            p->full = true;
            return 0;
        }
        p->choice[p->n].taken = 0;
        p->choice[p->n++].of = (uint16_t)of;
    }
    const uint32_t taken = p->choice[p->at++].taken;
    return taken < of ? taken : 0;
}

static bool take_turn(sett__core *c, sett__cta *b, sett__warp *w)
{
    sett__cluster *k = b->cluster;
    const uint32_t pc = w->pc;
    sett__cta_turn_to(c, b);
    k->turns++;
    k->went = w;
    if (sett__exec(c, w) == SETT__FAULTED || !release_barrier(c, b) || !(b->left || end_block(c, b)))
        return false;
    if (w->pc != pc || w->state == SETT__DONE)
        k->steps++;
    else
        w->apart.tried = k->steps;
    return true;
}

/* The first is who went last, as what comes behind an atomic is often the same in each order; then by number. */
static bool take_step(sett__core *c, sett__cluster *k, uint32_t nth)
{
    for (int others = 0; others < 2; others++)
        for (uint32_t r = 0; r < k->n; r++)
            for (uint32_t i = 0; i < k->cta[r]->n_warps; i++) {
                sett__warp *w = &k->cta[r]->warp[i];
                if (others == (w != k->went) && is_candidate(k, w) && !nth--)
                    return take_turn(c, k->cta[r], w);
            }
    for (uint32_t i = 0; i < k->n_event; i++)
        if (sett__event_can(k, i) && !nth--) {
            k->steps++;
            return sett__event_step(c, i);
        }
    return true;
}

/* One step; *n: of so many that there were. A step that all orders have alike is as good as any other would have been before it: unless
 * threads race, which is told in each order, no other needs to be tried there. */
static bool step_chosen(sett__core *c, sett__cluster *k, uint32_t *n)
{
    sett__choices *p = c->launch->choices;
    const uint64_t before = k->mingled;
    *n = p ? candidates(k) : 0;
    if (!*n)
        return true;
    const uint32_t nth = choose(p, *n);
    if (p->full || !take_step(c, k, nth))
        return false;
    if (k->mingled == before)
        p->choice[p->at - 1].of = (uint16_t)(p->choice[p->at - 1].taken + 1);
    return true;
}

/* How its warps are, all together. */
typedef struct look {
    bool ended, idle; /* idle: none goes on by itself */
    bool memory, turn, tries; /* some wait for what is written to memory; have had a long turn; ask mbarriers, or try again */
} look;

static look look_at(const sett__cluster *k)
{
    look l = {.ended = true, .idle = true};
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0; i < k->cta[r]->n_warps; i++) {
            const sett__warp *w = &k->cta[r]->warp[i];
            bool paused = w->state == SETT__PAUSED, waits = w->state == SETT__WAITING;
            l.ended &= w->state == SETT__DONE;
            l.memory |= paused && w->wait.what == SETT__FOR_MEMORY;
            l.turn |= paused && w->wait.what == SETT__FOR_TURN;
            l.tries |= (paused && w->wait.what == SETT__FOR_POLL) || (waits && w->wait.what == SETT__FOR_MBARRIER);
            l.idle &= w->state == SETT__DONE || waits || (paused && w->wait.what != SETT__FOR_TURN);
        }
    return l;
}

static void give_up(sett__cluster *k)
{
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0; i < k->cta[r]->n_warps; i++)
            k->cta[r]->warp[i].apart.give_up |= k->cta[r]->warp[i].wait.what == SETT__FOR_MBARRIER;
}

/* What is left under way touches no block any more. */
static bool finish(sett__core *c, sett__cluster *k)
{
    sett__cta_turn_to(c, k->cta[0]);
    while (sett__events_can(k))
        if (!sett__events_push(c))
            return false;
    if (c->launch->order)
        atomic_fetch_add_explicit(c->launch->order, k->order * (k->cta[0]->number + 1), memory_order_relaxed);
    return true;
}

/* None of them goes on by itself. *end: how the turn ends. True: they are to be looked at again. */
static bool help(sett__core *c, sett__cluster *k, const look *l, sett__turn_end *end)
{
    *end = SETT__FAULT;
    if (sett__events_can(k))
        return sett__events_push(c);
    give_up(k);
    *end = SETT__AWAITS;
    if (l->memory || (l->tries && c->program->polls))
        return false;
    *end = SETT__FAULT;
    if (l->tries && ++k->stuck < (!c->program->counts ? MOST_STUCK : c->launch->check ? MOST_CHECKED : MOST_COUNTED))
        return true;
    sett__stand_still(c);
    return false;
}

/* Is the launch to end? Then it is told where a warp of it was. */
static bool halted(sett__core *c, sett__cluster *k)
{
    const sett__warp *w = NULL;
    if (!sett__ended(c))
        return false;
    for (uint32_t r = k->n; r-- > 0;)
        for (uint32_t i = k->cta[r]->n_warps; i-- > 0;)
            if (k->cta[r]->warp[i].state != SETT__DONE) {
                sett__cta_turn_to(c, k->cta[r]);
                w = &k->cta[r]->warp[i];
            }
    if (w)
        sett__halt(c, w, &c->program->code[w->pc]);
    return w != NULL;
}

/* ---- its barrier: who has ended has arrived ----------------------------------------------------------------- */
static bool release_cluster(sett__core *c, sett__cluster *k)
{
    bool all = k->arrived;
    k->arrived = false;
    for (int go = 0; go < 2 && all; go++)
        for (uint32_t r = 0; r < k->n; r++)
            for (uint32_t i = 0; i < k->cta[r]->n_warps && all; i++) {
                sett__warp *w = &k->cta[r]->warp[i];
                all = w->state == SETT__DONE || w->apart.arrived == w->live;
                if (go)
                    w->apart.released |= w->apart.arrived, w->apart.arrived = 0;
            }
    k->moves += all;
    k->met |= all;
    k->gathered = all ? k->touches : k->gathered;
    return !all || sett__tell_sync(c, (sett__sync){.what = SETT__CLUSTER_MET, .of = k->cta[0]});
}

/* ---- turns of all ---------------------------------------------------------------------------------------------- */
/* One turn of each warp that may go on. True: another one is to follow; else *end: how it ends. */
static bool go_round(sett__core *c, sett__cluster *k, sett__turn_end *end)
{
    uint64_t before = k->moves;
    uint32_t chosen;
    *end = SETT__FAULT;
    if (halted(c, k) || !step_chosen(c, k, &chosen) || (!chosen && !run_all(c, k)) || !release_cluster(c, k))
        return false;
    sett__cta_turn_to(c, k->cta[0]);
    if (k->sleeper && k->moves == before) { /* no other goes on without it */
        if (!sett__events_can(k))
            k->sleeper = NULL;
        return !sett__events_can(k) || sett__events_push(c);
    }
    look l = look_at(k);
    if (k->moves != before)
        k->stuck = 0;
    if (l.ended) {
        *end = finish(c, k) ? SETT__ENDED : SETT__FAULT;
        return false;
    }
    if (chosen)
        return true;
    if (k->moves == before && l.idle)
        return help(c, k, &l, end);
    if (k->moves == before && l.turn && sett__events_can(k)) {
        *end = SETT__FAULT;
        return sett__events_push(c); /* who goes round may wait for what another does when it has come */
    }
    *end = SETT__LONG;
    return !(l.turn && c->program->awaits);
}

sett__turn_end sett__cluster_go_on(sett__core *c)
{
    sett__cluster *k = c->cta->cluster;
    sett__turn_end end;
    while (go_round(c, k, &end))
        ;
    sett__cta_turn_to(c, k->cta[0]);
    return end;
}
