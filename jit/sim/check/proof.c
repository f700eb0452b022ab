/* SPDX-License-Identifier: Apache-2.0 */
/* Would another order of the same launch do the same? Values are depends.c's. Here is what depends.c takes for granted: that mbarriers and
 * named barriers mean the same phase in each order. Who arrives at phase n + 1 must do so behind the end of phase n, else an order exists in
 * which the arrival counts for phase n; and who waits for phase n must have seen its end before phase n + 1 ends, else it may find the
 * parity of n again. */
#include "checker.h"
#include "depends.h"

bool sett__proof_begin(sett__program *p)
{
    sett__depends d;
    const bool fine = sett__depends_of(p->given, &d);
    p->by_order = d.order;
    p->by_data = d.data;
    return fine;
}

void sett__proof_end(const sett__program *p, sett__checked *k)
{
    const uint32_t chance = k->checker ? k->checker->by_chance : 0;
    const uint32_t order = p->by_order != SETT__NONE ? p->by_order : chance ? chance - 1 : SETT__NONE;
    const uint32_t because = order != SETT__NONE ? order : p->by_data;
    if (k->any)
        return;
    k->proof = order != SETT__NONE ? SETT_PROVED_NOTHING : p->by_data != SETT__NONE ? SETT_PROVED_ORDERS : SETT_PROVED_DATA;
    if (because != SETT__NONE)
        k->because = sett__site_at(p->given, because, sett__role_of(&p->given->op[because])), k->because.function = "";
}

static void by_chance(sett__core *c, uint32_t op)
{
    sett__checker *k = sett__checker_of(c);
    if (k && !k->by_chance)
        k->by_chance = op + 1;
}

/* The end of a phase is an access of its agent. */
static uint32_t end_phase(near *n, clocks *k, uint32_t agent)
{
    const uint32_t time = ++n->time;
    n->last[agent] = time;
    for (int clock = 0; clock < n->clocks; clock++)
        sett__base(n, k, clock)[agent] = time;
    return time;
}

static bool knows(const near *n, const clocks *k, uint32_t agent, uint32_t end)
{
    return !end || sett__covers(n, k, BEFORE, agent, MANY_LANES, end);
}

/* ---- mbarriers ------------------------------------------------------------------------------------------------------- */
static uint32_t *wait_of(const near *n, const sett__sync *s, uint32_t warp)
{
    return &n->block[s->of->rank].waits[(size_t)n->mbar_number[s->id] * n->warps + warp];
}

/* A thread's arrival by what the thread knows; a copy's bytes by what it knew who began the copy. */
static void arrives(near *n, sett__core *c, const sett__sync *s)
{
    const mbar *m = &n->block[s->of->rank].mbar[n->mbar_number[s->id]];
    const flight *f = s->event ? s->event->told : NULL;
    const clocks *k = s->event ? f ? f->known : NULL : sett__known_by(n, c, s->warp, (uint32_t)__builtin_ctz(s->lanes));
    if (k && !knows(n, k, sett__agent(n, OF_PHASE, s->of->rank, n->mbar_number[s->id]), m->end))
        by_chance(c, s->op);
}

/* A lane has told of what came later: lanes that wait together go on together. */
static bool reaches(const near *n, const clocks *k, uint32_t agent, uint32_t time)
{
    const uint32_t *base = k->at + (size_t)BEFORE * n->stride + agent;
    return *base >= time || base[n->part] >= time;
}

/* A warp has waited: it has told so, or a product that it began later has ended, which no warp of its group can know before. */
static bool is_known(const near *n, const clocks *k, uint32_t rank, uint32_t warp, uint32_t wait)
{
    return reaches(n, k, sett__agent(n, OF_WARP, rank, warp), wait) || (n->first[OF_WGMMA] >= 0 && reaches(n, k, sett__agent(n, OF_WGMMA, rank, warp), wait));
}

/* Waits of warps of other blocks are not kept: nobody waits at a peer's mbarrier. */
static bool ends(near *n, sett__core *c, const sett__sync *s)
{
    mbar *m = &n->block[s->of->rank].mbar[n->mbar_number[s->id]];
    if (!m->coming[0] && !(m->coming[0] = sett__clocks_new(n, NULL)))
        return false;
    for (uint32_t w = 0; w < n->warps; w++) {
        uint32_t *wait = wait_of(n, s, w);
        if (*wait && !is_known(n, m->coming[0], s->of->rank, w, *wait) && (!m->coming[1] || !is_known(n, m->coming[1], s->of->rank, w, *wait)))
            by_chance(c, n->walker[s->of->rank * n->warps + w].waited ? n->walker[s->of->rank * n->warps + w].waited - 1 : s->op);
        *wait = 0;
    }
    m->end = end_phase(n, m->coming[0], sett__agent(n, OF_PHASE, s->of->rank, n->mbar_number[s->id]));
    return true;
}

static void waited(near *n, const sett__core *c, const sett__sync *s)
{
    const uint32_t self = sett__agent(n, OF_WARP, c->cta->rank, s->warp->index);
    if (s->of == c->cta)
        n->last[self] = *wait_of(n, s, s->warp->index) = ++n->time;
}

/* ---- named barriers, at which some arrive and do not wait ---------------------------------------------------------------- */
static bool meet(near *n, const sett__sync *s)
{
    near_block *b = &n->block[s->of->rank];
    if (n->phases == n->n_mbar || !b->barrier[s->id])
        return true;
    b->end[s->id] = end_phase(n, b->barrier[s->id], sett__agent(n, OF_PHASE, s->of->rank, n->n_mbar + s->id));
    return true;
}

static void come(near *n, sett__core *c, const sett__sync *s)
{
    const near_block *b = &n->block[c->cta->rank];
    if (n->phases > n->n_mbar && !knows(n, sett__known_by(n, c, s->warp, 0), sett__agent(n, OF_PHASE, c->cta->rank, n->n_mbar + s->id), b->end[s->id]))
        by_chance(c, s->op);
}

bool sett__proof_sync(sett__core *c, near *n, const sett__sync *s)
{
    switch ((enum sett__sync_what)s->what) {
    case SETT__MBAR_ARRIVE:
    case SETT__MBAR_COMPLETE: arrives(n, c, s); return true;
    case SETT__MBAR_PHASE: return ends(n, c, s);
    case SETT__MBAR_WAITED: waited(n, c, s); return true;
    case SETT__BARRIER_ARRIVE: come(n, c, s); return true;
    case SETT__BARRIER_MET: return meet(n, s);
    default: return true;
    }
}
