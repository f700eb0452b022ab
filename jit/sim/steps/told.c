/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of threads that tell their effects (machine/effect.h). A thread's own array has none that others see. */
#include "steps.h"

static const sett__place *place_of(const sett__insn *i)
{
    switch (i->step) {
    case SETT__S_LOAD:
    case SETT__S_STORE: return &i->access.at;
    case SETT__S_ATOM: return &i->atom.at;
    case SETT__S_CP_ASYNC: return &i->cp_async.to;
    default: return NULL;
    }
}

/* Where a lane's access lies, that was found to be inside or is about to be. */
static void aim(const sett__core *c, const sett__warp *w, const sett__place *at, int lane, uint32_t size, sett__effect *e)
{
    const sett__root *r = &c->program->root[at->root];
    const int64_t byte = sett__place_index(w, at, lane) * (int64_t)size;
    e->lane = lane;
    e->of = r->space == SETT__SHARED ? c->cta : NULL;
    if (r->space == SETT__PEERS)
        e->of = c->cta->cluster->cta[((const int32_t *)sett__at(w, r->from))[lane]];
    if (e->of)
        e->at = r->offset + (uint32_t)byte;
    else if (r->space == SETT__ADDRESS)
        e->p = (const void *)(uintptr_t)(((const uint64_t *)sett__at(w, r->from))[lane] + (uint64_t)byte);
    else
        e->p = c->cta->window[at->root].p + byte;
}

/* All lanes at once; of peers those of a block. */
static bool tell_all(sett__core *c, const sett__warp *w, const sett__insn *i, const sett__place *at, uint32_t lanes, uint8_t how)
{
    sett__accesses a = {.warp = w, .insn = i, .how = how, .op = i->op, .bytes = i->n << i->lg};
    sett__cta *of[WARP];
    sett__effect e;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        aim(c, w, at, l, 1u << i->lg, &e);
        a.at[l] = e.of ? e.at : (uintptr_t)e.p;
        of[l] = e.of;
    }
    while (lanes) {
        int last = __builtin_ctz(lanes);
        a.of = of[last];
        a.lanes = 0;
        a.row = true;
        for (uint32_t m = lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            if (of[l] != a.of)
                continue;
            a.row &= !a.lanes || a.at[l] == a.at[last] + a.bytes;
            a.lanes |= 1u << l;
            last = l;
        }
        if (!c->program->watch->accesses(c, &a))
            return false;
        lanes &= ~a.lanes;
    }
    return true;
}

static bool tell(sett__core *c, const sett__warp *w, const sett__insn *i, const sett__place *at, sett__ref predicate, uint8_t how)
{
    const uint32_t lanes = predicate == SETT__NONE ? w->active : w->active & sett__mask_of(sett__at(w, predicate));
    if (c->program->watch->accesses)
        return !lanes || tell_all(c, w, i, at, lanes, how);
    sett__effect e = {.warp = w, .how = how, .op = i->op, .bytes = (uint64_t)i->n << i->lg};
    for (int l = 0; l < WARP; l++) {
        if (!(lanes >> l & 1))
            continue;
        aim(c, w, at, l, 1u << i->lg, &e);
        if (!sett__tell(c, &e))
            return false;
    }
    return true;
}

/* The access itself finds what is outside, so a load is told behind it. */
static bool told_load(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__load(c, w, i) && tell(c, w, i, &i->access.at, i->access.predicate, SETT__READ);
}

static bool told_store(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__store(c, w, i) && tell(c, w, i, &i->access.at, i->access.predicate, SETT__WRITE);
}

static bool told_atom(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__atom(c, w, i) && tell(c, w, i, &i->atom.at, i->atom.predicate, SETT__UPDATE);
}

static bool told_copy(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__cp_async(c, w, i) && tell(c, w, i, &i->cp_async.from, i->cp_async.keep, SETT__READ) &&
        tell(c, w, i, &i->cp_async.to, i->cp_async.predicate, SETT__WRITE);
}

sett__run_fn sett__told_step(const sett__program *p, const sett__insn *i)
{
    static const struct { sett__run_fn run; uint8_t how; } told[SETT__N_STEPS] = {
        [SETT__S_LOAD] = {told_load, SETT__READ},
        [SETT__S_STORE] = {told_store, SETT__WRITE},
        [SETT__S_ATOM] = {told_atom, SETT__UPDATE},
        [SETT__S_CP_ASYNC] = {told_copy, SETT__UPDATE},
    };
    const sett__place *at = place_of(i);
    if (!p->watch || !at || !(told[i->step].how & p->watch->threads))
        return NULL;
    const uint8_t space = p->root[at->root].space;
    const bool shared = space == SETT__SHARED || space == SETT__PEERS;
    return shared || (p->watch->global && (space == SETT__GLOBAL || space == SETT__ADDRESS)) ? told[i->step].run : NULL;
}
