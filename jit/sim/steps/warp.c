/* SPDX-License-Identifier: Apache-2.0 */
/* What the lanes of a warp ask each other, and barriers of some of a block's warps. */
#include "steps.h"
#include <string.h>
#include <time.h>

/* ---- votes -------------------------------------------------------------------------------- */
static void spread32(const sett__warp *w, const sett__insn *i, uint32_t x)
{
    uint8_t truth = (uint8_t)x;
    sett__spread(sett__at(w, i->d), i->dtype == SETT_BOOL ? (void *)&truth : (void *)&x, i->dtype == SETT_BOOL ? 1 : 4);
}

bool sett__vote(sett__core *c, sett__warp *w, const sett__insn *i)
{
    static const char *const name[] = {"sett_vote_all_sync", "sett_vote_any_sync", "sett_vote_uni_sync", "sett_vote_ballot_sync"};
    uint32_t yes = sett__mask_of(sett__at(w, i->vote.value)) & w->live, how = i->vote.how & 3;
    const uint32_t result[] = {yes == w->live, yes != 0, yes == w->live || !yes, yes};
    if (!sett__whole_warp(c, w, i, name[how]))
        return false;
    spread32(w, i, result[how]);
    return true;
}

bool sett__match(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const unsigned char *a = sett__at(w, i->match.value);
    uint8_t lg = i->match.lg;
    uint32_t *d = sett__at(w, i->d), masks[WARP] = {0};
    if (!sett__whole_warp(c, w, i, i->match.any ? "sett_match_any_sync" : "sett_match_all_sync"))
        return false;
    for (int l = 0; l < WARP; l++)
        for (int k = 0; k < WARP; k++)
            if (w->live >> k & 1 && sett__bits_at(a, k, lg) == sett__bits_at(a, l, lg))
                masks[l] |= 1u << k;
    for (int l = 0; l < WARP; l++)
        d[l] = i->match.any ? masks[l] : masks[0] == w->live ? w->live : 0;
    return true;
}

bool sett__redux(sett__core *c, sett__warp *w, const sett__insn *i)
{
    _Alignas(64) uint32_t acc[WARP], next[WARP], x[WARP];
    const uint32_t *a = sett__at(w, i->redux.value);
    if (!sett__whole_warp(c, w, i, "sett_warp_redux_sync"))
        return false;
    sett__spread(acc, a, 4);
    for (int l = 1; l < WARP; l++) {
        if (!(w->live >> l & 1))
            continue;
        sett__spread(x, a + l, 4);
        i->redux.fn(next, acc, x, NULL, 1, 0);
        memcpy(acc, next, sizeof acc);
    }
    memcpy(sett__at(w, i->d), acc, sizeof acc);
    return true;
}

bool sett__elect(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint8_t *d = sett__at(w, i->d);
    if (!sett__whole_warp(c, w, i, "sett_elect_one"))
        return false;
    for (int l = 0; l < WARP; l++)
        d[l] = l == __builtin_ctz(w->live);
    return true;
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t special_register(const sett__core *c, const sett__warp *w, uint8_t which)
{
    const sett__sig *sig = &c->program->tape->sig;
    uint32_t smem = sig->smem + c->launch->smem_more;
    switch (which) {
    case SETT__SREG_NSMID:
        return 1; /* workers come and go: one processor */
    case SETT__SREG_WARPID:
        return w->index;
    case SETT__SREG_NWARPID:
        return c->cta->n_warps;
    case SETT__SREG_CLOCK:
    case SETT__SREG_CLOCK64:
        return nanoseconds(CLOCK_MONOTONIC);
    case SETT__SREG_GLOBALTIMER:
        return nanoseconds(CLOCK_REALTIME);
    case SETT__SREG_ACTIVEMASK:
        return w->active;
    case SETT__SREG_DYNAMIC_SMEM:
        return sett__smem_static(sig) ? 0 : smem;
    case SETT__SREG_TOTAL_SMEM:
        return smem;
    default:
        return 0;
    }
}

bool sett__special(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint64_t x = special_register(c, w, i->special);
    sett__spread(sett__at(w, i->d), &x, 1u << i->lg);
    return true;
}

/* ---- named barriers -------------------------------------------------------------------------- */
static void let_go(sett__core *c, uint32_t id)
{
    c->cta->barrier[id].come = c->cta->barrier[id].want = c->cta->barrier[id].who = 0;
    for (uint32_t k = 0; k < c->cta->n_warps; k++)
        if (c->cta->warp[k].state == SETT__WAITING && c->cta->warp[k].wait.what == SETT__FOR_BARRIER && c->cta->warp[k].wait.id == id)
            c->cta->warp[k].state = SETT__RUNNING;
}

/* Where the first of those is that wait there. */
static const char *others_at(const sett__core *c, uint32_t id, char *buf, size_t size)
{
    for (uint32_t k = 0; k < c->cta->n_warps; k++) {
        const sett__warp *w = &c->cta->warp[k];
        if (w->state == SETT__WAITING && w->wait.what == SETT__FOR_BARRIER && w->wait.id == id)
            return sett__where_noted(c, sett__wait_op(c, w), buf, size);
    }
    snprintf(buf, size, "barrier.arrive");
    return buf;
}

/* A warp counts as 32 threads, whole or not; all its lanes must name the same barrier. */
bool sett__named_barrier(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const int32_t *ids = sett__at(w, i->named.id), *counts = sett__at(w, i->named.threads);
    int32_t id = ids[0], want = counts[0];
    const char *name = sett__ops[i->named.code].text;
    char where[96];
    if (!sett__whole_warp(c, w, i, name))
        return false;
    for (int l = 0; l < WARP; l++)
        if (w->live >> l & 1 && (ids[l] != id || counts[l] != want) &&
            !sett__object(c, w, l, i->op, SETT_CHECK_BARRIER_COUNT, "%s: lanes of one warp name barrier %d for %d threads, and %d for %d", name, id, want, ids[l], counts[l]))
            return false;
    if (id < 1 || id >= SETT__BARRIERS) /* a launch that goes on does so without it */
        return sett__object(c, w, 0, i->op, SETT_CHECK_BARRIER_COUNT, "%s: there is no named barrier %d", name, id);
    if (want < WARP || want % WARP || (uint32_t)want > c->cta->n_warps * WARP) {
        if (!sett__object(c, w, 0, i->op, SETT_CHECK_BARRIER_COUNT, "%s: barrier %d is for %d threads: a multiple of 32, up to the block's %u", name, id, want, c->cta->n_warps * WARP))
            return false;
        want = want < WARP ? WARP : (int32_t)sett__least((uint32_t)want / WARP, c->cta->n_warps) * WARP;
    }
    if (c->cta->barrier[id].want && c->cta->barrier[id].want != (uint32_t)want &&
        !sett__object(c, w, 0, i->op, SETT_CHECK_BARRIER_COUNT, "%s: barrier %d is for %d threads here, and for %u where others wait, at %s", name, id, want, c->cta->barrier[id].want,
            others_at(c, (uint32_t)id, where, sizeof where)))
        return false;
    if (c->launch->check && c->cta->barrier[id].who >> w->index & 1 &&
        !sett__object(c, w, 0, i->op, SETT_CHECK_BARRIER_COUNT, "%s: warp %u has arrived at barrier %d already, at %s, and the barrier has not ended since: it counts twice", name, w->index,
            id, sett__where_noted(c, w->apart.named - 1, where, sizeof where)))
        return false;
    const bool waits = i->named.code == SETT__BARSYNC;
    if (!sett__tell_sync(c, (sett__sync){.what = SETT__BARRIER_ARRIVE, .warp = w, .lanes = w->active, .op = i->op, .of = c->cta, .id = (uint32_t)id, .n = waits}))
        return false;
    c->cta->barrier[id].want = (uint32_t)want;
    c->cta->barrier[id].come += WARP;
    c->cta->barrier[id].who |= 1u << w->index;
    w->apart.named = i->op + 1;
    bool all = c->cta->barrier[id].come >= c->cta->barrier[id].want;
    if (all) {
        let_go(c, (uint32_t)id);
        return sett__tell_sync(c, (sett__sync){.what = SETT__BARRIER_MET, .op = i->op, .of = c->cta, .id = (uint32_t)id});
    }
    if (waits) {
        w->state = SETT__WAITING;
        w->wait = (sett__wait){SETT__FOR_BARRIER, (uint32_t)id};
    }
    return true;
}
