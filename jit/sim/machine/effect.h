/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it. Every effect of a kernel on global memory, and on shared memory of its block or a peer, passes
 * sett__tell(): who has it, what it touches, how, and through which proxy. What orders effects passes sett__tell_sync(). Who listens is a
 * sett__watch. A program is decoded for one watch or for none, and without one an effect costs nothing: steps/told.c has the steps that
 * tell their effects. c->event is what goes on by itself and does so now; NULL: it is the thread.
 *
 * A read is told before its value is used, a write once it has happened; both when the access was found to be inside and aligned.
 * cp.async is a plain access, told where it begins. Mbarriers are no data: what they do is not told. */
#ifndef SETT_JIT_SIM_EFFECT_H
#define SETT_JIT_SIM_EFFECT_H
#include "block.h"
#include "cluster.h"

enum { SETT__READ = 1, SETT__WRITE = 2, SETT__UPDATE = SETT__READ | SETT__WRITE }; /* UPDATE: an atomic */
enum sett__through { SETT__GENERIC_PROXY, SETT__ASYNC_PROXY, SETT__TENSORMAP_PROXY }; /* of the last: a copy READs a map in global memory; how 0: a thread acquires one */
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
/* The same of an instruction of threads, of all lanes at once: each of them touches as many bytes. */
typedef struct sett__accesses {
    const sett__warp *warp;
    const sett__insn *insn;
    uint32_t lanes; /* at least one */
    uint8_t how;
    bool row;       /* each of the lanes begins where the one before it ends */
    sett__cta *of;  /* whose shared memory; NULL: global memory */
    uint32_t op, bytes;
    uint64_t at[WARP]; /* of each lane: in the window, or the address */
} sett__accesses;

/* ---- what orders effects --------------------------------------------------------------------------------------- */
/* An arrival is told before it counts, a wait when it has gone through. */
enum sett__sync_what {
    SETT__CLUSTER_BEGINS, SETT__BLOCK_BEGINS, SETT__BLOCK_ENDS, /* of: the block; of a cluster the one of rank 0 */
    SETT__LANES_SYNC,                                           /* sync_warp */
    SETT__BARRIER_ARRIVE, SETT__BARRIER_MET,                    /* id: 0 is the block's; n: does who arrives wait? */
    SETT__MBAR_INIT, SETT__MBAR_INVAL, SETT__MBAR_ARRIVE, SETT__MBAR_EXPECT, SETT__MBAR_COMPLETE, /* n: count, arrivals, bytes */
    SETT__MBAR_PHASE, SETT__MBAR_WAITED,                        /* n: the phase that has ended */
    SETT__EVENT_BEGINS, SETT__EVENT_PART, SETT__EVENT_ENDS,     /* event: it; n: the part, which is done */
    SETT__CP_COMMIT, SETT__CP_WAITED, SETT__BULK_COMMIT, SETT__BULK_WAITED, SETT__WGMMA_COMMIT, SETT__WGMMA_WAITED, /* n: groups that may be pending */
    SETT__CLUSTER_ARRIVE, SETT__CLUSTER_MET, SETT__CLUSTER_WAITED,
    SETT__MEMORY_FENCED, SETT__PROXY_FENCED, SETT__MBAR_FENCED,
    SETT__GRID_WAITED, SETT__GRID_RELEASES                      /* griddepcontrol */
};
typedef struct sett__sync {
    uint8_t what;
    const sett__warp *warp; /* of c->cta; NULL: of none */
    uint32_t lanes, op;
    sett__cta *of;          /* whose barrier it is */
    uint32_t id;            /* of a barrier; of an mbarrier, in its block's table */
    int64_t n;
    sett__event *event;     /* what arrives or completes by itself; NULL: the thread does */
} sett__sync;

/* ---- who listens ------------------------------------------------------------------------------------------------- */
/* Functions that are NULL are not called. False: it has faulted. */
typedef struct sett__watch {
    bool (*effect)(sett__core *, const sett__effect *);
    bool (*accesses)(sett__core *, const sett__accesses *); /* NULL: `effect` is told of each lane. A store is told before it happens */
    bool (*sync)(sett__core *, const sett__sync *);
    uint8_t threads; /* which effects of threads are told: SETT__READ, SETT__WRITE */
    bool global;     /* those on global memory too */
    bool granules;   /* blocks have them: async/proxy.c */
} sett__watch;

static inline bool sett__tell(sett__core *c, const sett__effect *e)
{
    if (e->agent && e->of && e->how & SETT__WRITE && e->of->shadow)
        sett__shadow_put(e->of->shadow, e->at, e->bytes, false);
    const sett__watch *w = c->program->watch;
    return !w || (!e->of && !w->global) || w->effect(c, e);
}
static inline bool sett__told_syncs(const sett__core *c)
{
    return c->program->watch && c->program->watch->sync;
}
/* Is there an order in which others would find something else? A barrier of all, a thread's own groups, fences and what begins are the same
 * in each. */
static inline bool sett__mingles(const sett__sync *s)
{
    const uint64_t same = 1ull << SETT__CLUSTER_BEGINS | 1ull << SETT__BLOCK_BEGINS | 1ull << SETT__LANES_SYNC | 1ull << SETT__BARRIER_MET |
        1ull << SETT__EVENT_BEGINS | 1ull << SETT__EVENT_PART | 1ull << SETT__EVENT_ENDS | 1ull << SETT__CP_COMMIT | 1ull << SETT__CP_WAITED |
        1ull << SETT__BULK_COMMIT | 1ull << SETT__BULK_WAITED | 1ull << SETT__WGMMA_COMMIT | 1ull << SETT__WGMMA_WAITED |
        1ull << SETT__MEMORY_FENCED | 1ull << SETT__PROXY_FENCED | 1ull << SETT__MBAR_FENCED;
    return !(same >> s->what & 1) && !(s->what == SETT__BARRIER_ARRIVE && !s->id);
}
static inline bool sett__tell_sync(sett__core *c, sett__sync s)
{
    if (!sett__told_syncs(c))
        return true;
    c->cta->cluster->mingled += sett__mingles(&s);
    s.event = s.event ? s.event : c->event;
    return c->program->watch->sync(c, &s);
}

#endif
