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

/* Of each lane of a warp, whether it takes part or not. */
static void aim_all(const sett__core *c, const sett__warp *w, const sett__place *at, uint8_t lg, uint64_t to[WARP])
{
    const sett__root *r = &c->program->root[at->root];
    const void *base = at->base == SETT__NONE ? NULL : sett__at(w, at->base);
    const uint64_t *address = r->space == SETT__ADDRESS ? sett__at(w, r->from) : NULL;
    const uint64_t from = (r->space == SETT__SHARED ? r->offset : address ? 0 : (uintptr_t)c->cta->window[at->root].p) + ((uint64_t)at->offset << lg);
    if (base && !at->base64 && r->space == SETT__SHARED) { /* a window has 32 bits */
        for (int l = 0; l < WARP; l++)
            to[l] = (uint32_t)from + (((const uint32_t *)base)[l] << lg);
        return;
    }
    for (int l = 0; l < WARP && !base; l++)
        to[l] = from;
    for (int l = 0; l < WARP && base && at->base64; l++)
        to[l] = from + (((const uint64_t *)base)[l] << lg);
    for (int l = 0; l < WARP && base && !at->base64 && at->base_unsigned; l++)
        to[l] = from + ((uint64_t)((const uint32_t *)base)[l] << lg);
    for (int l = 0; l < WARP && base && !at->base64 && !at->base_unsigned; l++)
        to[l] = from + ((uint64_t)(int64_t)((const int32_t *)base)[l] << lg);
    for (int l = 0; l < WARP && address; l++)
        to[l] += address[l];
}

static bool is_row(const sett__accesses *a)
{
    uint64_t apart = 0;
    for (int l = 1; l < WARP; l++)
        apart |= a->at[l] - a->at[l - 1] - a->bytes;
    return !apart;
}

/* All lanes at once; of peers those of a block. */
static bool tell_peers(sett__core *c, const sett__warp *w, const sett__place *at, uint32_t lanes, sett__accesses *a)
{
    sett__cta *of[WARP];
    sett__effect e = {.at = 0};
    for (uint32_t m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        aim(c, w, at, l, 1u << a->insn->lg, &e);
        a->at[l] = e.at;
        of[l] = e.of;
    }
    while (lanes) {
        int last = __builtin_ctz(lanes);
        a->of = of[last];
        a->lanes = 0;
        a->row = true;
        for (uint32_t m = lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            if (of[l] != a->of)
                continue;
            a->row &= !a->lanes || a->at[l] == a->at[last] + a->bytes;
            a->lanes |= 1u << l;
            last = l;
        }
        if (!c->program->watch->accesses(c, a))
            return false;
        lanes &= ~a->lanes;
    }
    return true;
}

static bool tell_all(sett__core *c, const sett__warp *w, const sett__insn *i, const sett__place *at, uint32_t lanes, uint8_t how)
{
    const uint8_t space = c->program->root[at->root].space;
    sett__accesses a;
    a.warp = w, a.insn = i, a.lanes = lanes, a.how = how, a.op = i->op, a.bytes = i->n << i->lg;
    if (space == SETT__PEERS)
        return tell_peers(c, w, at, lanes, &a);
    a.of = space == SETT__SHARED ? c->cta : NULL;
    aim_all(c, w, at, i->lg, a.at);
    a.row = is_row(&a);
    for (uint32_t m = lanes & (lanes - 1), last = (uint32_t)__builtin_ctz(lanes); !a.row && m; m &= m - 1) { /* some lanes do not take part */
        const uint32_t l = (uint32_t)__builtin_ctz(m);
        if (a.at[l] != a.at[last] + a.bytes)
            break;
        last = l;
        a.row = !(m & (m - 1));
    }
    return c->program->watch->accesses(c, &a);
}

static uint32_t lanes_of(const sett__warp *w, uint32_t lanes, sett__ref predicate)
{
    return predicate == SETT__NONE ? lanes : lanes & sett__mask_of(sett__at(w, predicate));
}

static bool tell(sett__core *c, const sett__warp *w, const sett__insn *i, const sett__place *at, uint32_t lanes, uint8_t how)
{
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
    return sett__load(c, w, i) && tell(c, w, i, &i->access.at, lanes_of(w, w->active, i->access.predicate), SETT__READ);
}

/* Who is told of all lanes at once may look at what a store is about to overwrite. */
static bool told_store(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const bool before = c->program->watch->accesses;
    const uint32_t lanes = lanes_of(w, w->active, i->access.predicate);
    if (before)
        return sett__store_fits(c, w, i) && tell(c, w, i, &i->access.at, lanes, SETT__WRITE) && sett__store(c, w, i);
    return sett__store(c, w, i) && tell(c, w, i, &i->access.at, lanes, SETT__WRITE);
}

static bool told_atom(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__atom(c, w, i) && tell(c, w, i, &i->atom.at, lanes_of(w, w->active, i->atom.predicate), SETT__UPDATE);
}

static bool told_copy(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const uint32_t lanes = lanes_of(w, w->active, i->cp_async.predicate), kept = lanes_of(w, lanes, i->cp_async.keep);
    return sett__cp_async(c, w, i) && tell(c, w, i, &i->cp_async.from, kept, SETT__READ) && tell(c, w, i, &i->cp_async.to, lanes, SETT__WRITE);
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
