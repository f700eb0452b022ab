/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it. Every effect of a kernel on global memory, and on shared memory of its block or a peer, passes
 * sett__tell(): who has it, what it touches, how, and through which proxy. Who listens is a sett__watch. A program is decoded for one
 * watch or for none, and without one an effect costs nothing: steps/told.c has the steps that tell their effects.
 *
 * A read is told before its value is used, a write once it has happened; both when the access was found to be inside and aligned.
 * cp.async is a plain access, told where it begins. Mbarriers are no data: what they do is not told. */
#ifndef SETT_JIT_SIM_EFFECT_H
#define SETT_JIT_SIM_EFFECT_H
#include "block.h"

enum { SETT__READ = 1, SETT__WRITE = 2, SETT__UPDATE = SETT__READ | SETT__WRITE }; /* UPDATE: an atomic */
enum sett__through { SETT__GENERIC_PROXY, SETT__ASYNC_PROXY };
typedef struct sett__effect {
    /* who: a lane of a warp of c->cta; agent: what that lane began, and goes on by itself */
    const sett__warp *warp;
    int lane;
    bool agent;
    /* how. An atomic's order and scope are attributes of the operation. */
    uint8_t how, proxy;
    /* of the async proxy, in shared memory: it lies there as a box of a map, or as a descriptor says. bits: of the address from 7 on
     * that are exchanged with those from 4 on */
    bool boxed;
    uint8_t bits;
    /* what: bytes of shared memory of block `of`, from `at` in its window on; of NULL: of global memory, from p on. op: of the given tape */
    uint32_t op, at;
    sett__cta *of;
    const void *p;
    uint64_t bytes;
} sett__effect;
/* shadow.c: of shared memory, from byte `at` of the window on: is it, from now on, what nobody has written? */
void sett__shadow_put(sett__shadow *, uint32_t at, uint64_t bytes, bool poison);
typedef struct sett__watch {
    bool (*effect)(sett__core *, const sett__effect *); /* false: it has faulted */
    uint8_t threads; /* which effects of threads are told: SETT__READ, SETT__WRITE */
    bool global;     /* those on global memory too */
} sett__watch;

static inline bool sett__tell(sett__core *c, const sett__effect *e)
{
    if (e->agent && e->of && e->how & SETT__WRITE && e->of->shadow)
        sett__shadow_put(e->of->shadow, e->at, e->bytes, false);
    const sett__watch *w = c->program->watch;
    return !w || (!e->of && !w->global) || w->effect(c, e);
}

#endif
