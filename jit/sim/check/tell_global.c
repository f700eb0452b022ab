/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of what global memory shows. */
#include "global.h"
#include "cells.h"
#include "phrase.h"

static const char *verb_of(const sett__stamp *s)
{
    const bool copy = s->how & SETT__BY_ITSELF, strong = s->how & SETT__STRONG;
    return strong && (s->how & SETT__UPDATE) == SETT__UPDATE ? copy ? "reduces into" : "updates" : s->how & SETT__WRITE ? "writes" : "reads";
}

static sett__party party_of(const sett__stamp *s, uintptr_t at)
{
    const uint8_t lane = sett__stamp_lane(s, at);
    return (sett__party){.op = s->op, .domain = s->domain, .agent = s->agent, .lanes = lane == SETT__ALL_LANES ? UINT32_MAX : 1u << lane, .how = s->how & SETT__UPDATE, .strong = s->how & SETT__STRONG};
}

/* The release does not include it. */
static void put_missed(const sett__actor *a, uint32_t release, const sett__party *was, const sett__party *is, sett__sink *to)
{
    sett__put(to, "\n  path   ");
    sett__put_code(a->c, release, to);
    sett__put(to, " releases what its own thread did, and this acquires it; ");
    sett__put_the(a->c, a->n, was, is, to);
    sett__put(to, " is not ordered before that\n  fix    ");
    uint32_t role, rank, index;
    sett__agent_is(a->n, was->agent, &role, &rank, &index);
    if (sett__done_by(role)) {
        sett__putf(to, "%s, before ", sett__done_by(role));
        sett__put_code(a->c, release, to);
        return;
    }
    sett__put_barrier(a->c, was->op, release, false, to);
    sett__put(to, " between ");
    sett__put_the(a->c, a->n, was, is, to);
    sett__put(to, " and ");
    sett__put_code(a->c, release, to);
    sett__put_outside(a->c, was->op, release, to);
}

/* Of two clusters. Who came first may be chance: what is written is read behind it. */
static void put_far_fix(const sett__actor *a, const sett__party *was, const sett__party *is, sett__sink *to)
{
    const sett__party *first = was->how & SETT__WRITE ? was : is, *second = first == was ? is : was;
    sett__put(to, "\n  fix    ");
    if (was->strong != is->strong)
        sett__put(to, "atomics on both sides, or what orders the two: ");
    sett__put(to, "a release behind ");
    sett__put_the(a->c, a->n, first, second, to);
    sett__put(to, " and an acquire before ");
    sett__put_the(a->c, a->n, second, first, to);
    sett__put(to, " (sett_atomic_ordered, SETT_SCOPE_GPU), or two launches");
    if (sett__same_line(a->c, was->op, is->op))
        sett__put(to, "; or places of their own, as both are of one line");
}

static void put_weak(const sett__actor *a, const sett__weak *weak, sett__sink *to, sett__finding *f)
{
    const sett__tape *t = a->c->program->given;
    const char *between = ": ";
    for (int k = 0; k < SETT__SIDES; k++)
        if (weak[k].why) {
            sett__put(to, between);
            sett__put_weak(a->c, &weak[k], to);
            sett__finding_site(f, weak[k].op, sett__role_of(&t->op[weak[k].op]));
            if (weak[k].other != weak[k].op)
                sett__finding_site(f, weak[k].other, sett__role_of(&t->op[weak[k].other]));
            between = "; and ";
        }
}

static bool is_of_proxies(uint8_t kind)
{
    return kind == SETT_CHECK_PROXY_FENCE || kind == SETT_CHECK_PROXY_FENCE_SIDE;
}

static void put_end(const sett__actor *a, const sett__words *words, uint8_t kind, const sett__stamp *old, const sett__stamp *now, uintptr_t at, sett__sink *to, sett__finding *f)
{
    const sett__party was = party_of(old, at);
    sett__party is = party_of(now, at);
    sett__knower k;
    is.later = true;
    const uint8_t old_lane = sett__stamp_lane(old, at), lane = sett__stamp_lane(now, at);
    if (!is_of_proxies(kind) && old->domain == now->domain) {
        const uint32_t self = sett__agent(a->n, OF_WARP, a->rank, a->w->index);
        const actor x = {.n = a->n, .c = a->c, .w = a->w, .known = a->known, .agent = now->agent, .self = self, .lanes = a->lanes, .op = now->op, .time = 0, .began = now->epoch, .how = is.how};
        const access was_one = {.op = old->op, .lanes = was.lanes, .agent = old->agent, .how = was.how};
        sett__put_pair(&x, kind, &was_one, old->epoch, old_lane == SETT__ALL_LANES ? MANY_LANES : old_lane, lane == SETT__ALL_LANES ? MANY_LANES : lane, to, f);
        return;
    }
    sett__put_party(a->c, a->n, &is, to);
    sett__put_party(a->c, a->n, &was, to);
    if (kind == SETT_CHECK_RACE && words && sett__words_knower(words, a, old, old_lane, &k.agent, &k.lanes, &k.op)) {
        sett__put_knower(a->c, a->n, &k, &was, &is, to);
        sett__finding_site(f, k.op, sett__role_of(&a->c->program->given->op[k.op]));
    } else if (kind == SETT_CHECK_RACE && words && sett__words_missed(words, a, old, &k.op)) {
        put_missed(a, k.op, &was, &is, to);
        sett__finding_site(f, k.op, sett__role_of(&a->c->program->given->op[k.op]));
    } else if (is_of_proxies(kind)) {
        sett__put(to, "\n  fix    sett_fence_proxy(b, SETT_PROXY_ASYNC) by the thread of ");
        sett__put_the(a->c, a->n, &was, &is, to);
        sett__put(to, ", behind it");
    } else {
        put_far_fix(a, &was, &is, to);
    }
}

bool sett__tell_global(const sett__actor *a, const sett__words *words, uint8_t kind, const sett__stamp *old, const sett__stamp *now, uintptr_t at, const sett__weak *weak)
{
    sett__core *c = a->c;
    const sett__tape *t = c->program->given;
    const bool atomics = old->how & now->how & SETT__STRONG;
    sett__knower k;
    char words_of[1600];
    sett__sink to = {.buf = words_of, .cap = sizeof words_of};
    if (kind == SETT_CHECK_ORDER && weak && !atomics && words && old->domain != now->domain && sett__words_knower(words, a, old, sett__stamp_lane(old, at), &k.agent, &k.lanes, &k.op))
        kind = SETT_CHECK_RACE, weak = NULL; /* somebody acquires it as it should */
    const bool is_weak = weak && (weak[SETT__RELEASED].why || weak[SETT__ACQUIRED].why);
    sett__finding f = {.kind = kind, .level = kind == SETT_CHECK_PROXY_FENCE_SIDE ? SETT_CHECK_WARNING : SETT_CHECK_ERROR};
    sett__finding_site(&f, now->op, sett__role_of(&t->op[now->op]));
    sett__finding_site(&f, old->op, sett__role_of(&t->op[old->op]));
    sett__putf(&to, "%s %s ", sett__code_text(c, now->op), verb_of(now));
    sett__put_global(c, at, &to);
    sett__put(&to, ", which ");
    sett__put_code(c, old->op, &to);
    sett__putf(&to, " %s", verb_of(old));
    if (is_weak)
        put_weak(a, weak, &to, &f);
    else if (kind == SETT_CHECK_ORDER)
        sett__put(&to, atomics ? ": both are atomic, and the scope of one does not include the other thread" : ": atomics are between the two, which are relaxed and order nothing");
    else
        sett__put(&to, kind == SETT_CHECK_PROXY_FENCE ? " by another proxy: no fence.proxy is on the way from it" :
            kind == SETT_CHECK_PROXY_FENCE_SIDE ? " by another proxy, and the only fence.proxy.async between the two is not one of that thread behind its access" : ", and nothing orders the two");
    if (kind != SETT_CHECK_ORDER) {
        put_end(a, words, kind, old, now, at, &to, &f);
    } else {
        const sett__party is = party_of(now, at), was = party_of(old, at);
        sett__put_party(c, a->n, &is, &to);
        sett__put_party(c, a->n, &was, &to);
        sett__put(&to, "\n  fix    ");
        if (is_weak)
            sett__put_stronger(c, weak, &to);
        else
            sett__put(&to, atomics ? "SETT_SCOPE_GPU on both" : "SETT_SEM_RELEASE behind the earlier one and SETT_SEM_ACQUIRE before the later one (sett_atomic_ordered)");
    }
    sett__report(c, &f, "%s", words_of);
    return true;
}
