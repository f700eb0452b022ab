/* SPDX-License-Identifier: Apache-2.0 */
/* Who acts in a cluster, and what each of them knows of the others.
 *
 * An agent is a warp, or what a warp began and goes on by itself: its cp.async, its bulk stores as readers and as writers, its wgmma; or
 * the copies that complete at one mbarrier. Time is a number that grows with each access of the cluster: the access's own. A clock says
 * of each agent up to when its accesses are known: `base`, those of all its lanes; up to `top`, those of the lanes in `mask`.
 *
 * What a warp knows is four clocks: */
#ifndef SETT_JIT_SIM_CHECK_AGENTS_H
#define SETT_JIT_SIM_CHECK_AGENTS_H
#include "check.h"

enum {
    BEFORE, /* what comes before */
    FENCED, /* and a fence of the async proxy lies on the way */
    OWN_FENCE, /* and it was that of the accessing thread, before it told anybody */
    STRONGER,  /* what would come before if nothing were relaxed */
    CLOCKS,
    GLOBAL = CLOCKS - FENCED, /* FENCED and OWN_FENCE + GLOBAL: of global memory, where the kernel has fences of one memory alone */
    MOST_CLOCKS = CLOCKS + 2
};
enum { OF_WARP, OF_CP_ASYNC, OF_BULK_READ, OF_BULK_WRITE, OF_WGMMA, OF_MBARRIER, OF_PHASE, ROLES }; /* agents; PHASE: the ends of an mbarrier's phases, or of a named barrier's, as accesses */
/* Of an access: by several lanes; by one of them, nobody knows which. */
enum { NO_AGENT = 0xffff, MANY_LANES = 32, TURNED, /* to TURNED + 3: of a transposed matrix */ PRODUCTS = 512, GROUPS = 256, MOST_RANKS = SETT__CLUSTER_BLOCKS, TOLD = 16, CHUNK = 256 }; /* CHUNK: accesses that are remembered, or forgotten, together */

typedef struct clocks {
    struct clocks *next; /* of those that are free */
    uint32_t refs;
    bool has_floors;
    /* Accesses up to there come before, whoever had them: of the generic proxy's; of the async one's, with fences. */
    uint32_t floor[2];
    uint32_t at[]; /* [base, top, mask][n->clocks][agents] */
} clocks;

/* An access, by its time. */
typedef struct access {
    uint32_t op, lanes, round; /* round: of the loop around it, from 1 on; 0: not known */
    uint16_t agent;
    uint8_t how, proxy;
    bool boxed; /* it wrote a box, whose swizzle exchanges these bits */
    uint8_t bits;
} access;

/* The groups that lanes of a warp have committed, the last ones. */
typedef struct commits {
    uint32_t n;
    struct { uint32_t lanes, last; } of[GROUPS]; /* last: the time of the last access that may be in it */
} commits;
typedef struct walker { /* a warp */
    clocks *known; /* several warps may share it */
    clocks *more; /* what the lanes of more_lanes know besides, until the lanes meet; NULL: nothing */
    clocks *behind[2]; /* what a fence lies behind: any fence; one of more than the block. Relaxed arrivals tell of it. NULL: none was */
    clocks *met[SETT__GROUP + 1]; /* of the first of a group: what each of them knew at the last product, and what all of them did */
    clocks **told_to;             /* the last arrival: where, when it was done, of which lanes */
    uint32_t told_at, told_lanes;
    uint32_t more_lanes, meets, waited, waited_lanes, waited_mbar; /* waited: 1 + the operation by which these lanes learned last; 0: none. waited_mbar: where, by its number */
    uint32_t waits[ROLES];    /* the same, of what goes on by itself */
    uint32_t fenced, fenced_at; /* 1 + its last fence of the async proxy, and when; 0: none */
    uint32_t tells, products, products_committed;
    struct { uint32_t top, lanes; } shared[OF_BULK_WRITE + 1]; /* of agents that are lanes of this warp: what these lanes waited for, and others learned of them */
    /* Rings: of what the counts say. */
    struct { uint32_t time, op, round, lanes; } told[TOLD]; /* when it told others of what it had done, and by which operation: the last times */
    commits cp, bulk;
    uint32_t product[PRODUCTS], group[16]; /* of wgmma: times, the last ones; of each group: products up to its commit */
} walker;
/* What all warps of a group knew when each of them issued a product. */
typedef struct product {
    struct product *next;
    uint32_t group, nth, ended; /* group: its first warp, in near->walker */
    clocks *shot[SETT__GROUP], *known; /* known: what all four of them knew; NULL: nobody has asked yet */
} product;
typedef struct mbar {
    clocks *coming[2], *ended[2]; /* from threads of the block, and copies; from threads of peers. NULL: nobody has come */
    uint32_t init, op;      /* time of its init; 0: it has none */
    uint16_t agent;
    uint8_t lane;
    uint32_t shown;         /* time of the first fence.mbarrier_init by its thread; 0: there was none */
    uint32_t end;           /* time of the end of its last phase; 0: none has ended */
} mbar;
typedef struct near_block {
    sett__cta *cta;
    mbar *mbar;
    clocks *barrier[SETT__BARRIERS];
    uint32_t waiting[SETT__BARRIERS];
    uint32_t end[SETT__BARRIERS]; /* as that of an mbarrier */
    uint32_t *waits;              /* of each mbarrier and warp: when it waited for the last phase that has ended; 0: it has not */
    struct cells *cells; /* shared_cells.h */
} near_block;
/* What began and goes on by itself. */
typedef struct flight {
    struct flight *next, **link;
    clocks *known;               /* of who began it */
    product *product;            /* of wgmma */
    uint32_t began;
    uint32_t time[MOST_RANKS];   /* of its accesses to each block; of stores: as reader, as writer */
} flight;
/* Who accesses shared memory now. */
typedef struct actor {
    struct near *n;
    sett__core *c;
    const sett__warp *w;
    const clocks *known;
    const sett__accesses *of; /* NULL: it is no thread's */
    sett__cta *where;
    uint32_t agent, self, lanes, op, time, began; /* self: of the warp; began: when, of what goes on by itself */
    uint8_t how, proxy, lane;  /* lane: of what goes on by itself; MANY_LANES: of all */
    uint32_t boxed_so; /* a write of a box that is swizzled as what reads it says */
    bool strict, same; /* same: what it stores is there already, by the same store */
    /* of the cell that was looked at last */
    uint32_t seen, seen_lane;
    bool seen_fine;
    struct alike { /* the last cell that `lane` read: what it was, and what its readers became; 0: none was */
        uint32_t write, read, becomes;
        uint8_t write_lane, read_lane, lane, new_lane;
    } alike;
} actor;
/* A cluster. */
typedef struct near {
    struct near *next;
    const sett__cluster *cluster;
    uint32_t warps, blocks, n_mbar, phases, agents, stride; /* phases: of OF_PHASE, of a block; stride: agents, rounded up */
    int clocks;                  /* CLOCKS or MOST_CLOCKS */
    size_t part;                 /* clocks * stride */
    bool fences[2];              /* has the kernel one of shared memory, of global memory? */
    uint32_t maps_released;      /* when somebody released maps last */
    uint32_t time, swept;
    int32_t first[ROLES];        /* of a block: of its agents of this role, the first; -1: none */
    uint32_t per_block;          /* agents */
    uint32_t *last;              /* of each agent: its last access */
    walker *walker;              /* of all blocks */
    near_block block[MOST_RANKS];
    clocks *coming, *met;        /* at the cluster's barrier */
    clocks *free;
    product *product;
    flight *flight;
    access **chunk, *spare;      /* accesses, by time; NULL: nothing knows of them any more. spare: chunks, by the first word */
    uint32_t n_chunk, cap_chunk, live;
    struct readers *readers;     /* shared_cells.h */
    uint16_t *mbar_number;       /* of each of a block's table: which of those it is that lie in roots of mbarriers */
    uint32_t *mbar_id;           /* the other way */
    uint32_t *loop;              /* of each operation: in code, 1 + the FOR around it; 0: none */
    actor last_one;              /* who had the last effect, and of which event; when */
    const sett__event *last_event;
    uint32_t last_time;
    bool full, begun;            /* full: out of memory; begun: there was memory for what each warp needs */
} near;

/* ---- clocks.c ------------------------------------------------------------------------------------------------------ */
static inline uint32_t *sett__base(const near *n, clocks *k, int clock)
{
    return k->at + (size_t)clock * n->stride;
}
static inline uint32_t *sett__top(const near *n, clocks *k, int clock)
{
    return k->at + n->part + (size_t)clock * n->stride;
}
static inline uint32_t *sett__mask(const near *n, clocks *k, int clock)
{
    return k->at + 2 * n->part + (size_t)clock * n->stride;
}
clocks *sett__clocks_new(near *, const clocks *like); /* like: NULL: of who knows nothing. NULL: out of memory, and n->full */
void sett__clocks_drop(near *, clocks *);       /* NULL is ignored */
void sett__clocks_join(const near *, clocks *, const clocks *);
void sett__clocks_join_weak(const near *, clocks *, const clocks *); /* of what is relaxed: STRONGER, and what was waited for */
void sett__clocks_meet(const near *, clocks *, const clocks *);      /* what both know */
void sett__floors(const near *, clocks *);
static inline bool sett__covers(const near *n, const clocks *k, int clock, uint32_t agent, uint32_t lane, uint32_t time)
{
    const uint32_t *base = k->at + (size_t)clock * n->stride + agent;
    if (*base >= time)
        return true;
    const uint32_t top = base[n->part], mask = base[2 * n->part];
    return top >= time && (lane >= MANY_LANES ? (mask & (mask - 1)) != 0 : mask >> lane & 1);
}
/* The same to a lane of warp `self`. What lanes of its own began, each of them has waited for by itself, until they meet. */
bool sett__knows(const near *, const clocks *, int clock, uint32_t self, uint32_t lane, uint32_t agent, uint32_t old_lane, uint32_t time);
static inline bool sett__covers_all(const near *n, const clocks *k, int clock, uint32_t agent, uint32_t time) /* of all its lanes */
{
    const uint32_t *base = k->at + (size_t)clock * n->stride + agent;
    return *base >= time || (base[n->part] >= time && base[2 * n->part] == UINT32_MAX);
}
/* What lanes of a warp know and did goes to where others will learn it; NULL: it is made. */
bool sett__release(near *, sett__core *, const sett__warp *, uint32_t lanes, clocks **to, bool relaxed);
bool sett__acquire(near *, sett__core *, const sett__warp *, uint32_t lanes, const clocks *from, uint32_t op);
bool sett__acquire_weak(near *, sett__core *, const sett__warp *, uint32_t lanes, const clocks *from, uint32_t op); /* from whom its scope does not include */
bool sett__lanes_meet(near *, sett__core *, const sett__warp *);
bool sett__warps_meet(near *, sett__core *, sett__cta *, uint32_t warps, const clocks *from);
/* One of the async proxy, of global memory or of both. Right behind griddepcontrol.wait it is of what launches before did, and of nothing else. */
static inline bool sett__fences_global(const sett__tape *t, uint32_t op)
{
    return t->op[op].code == SETT__PROXY && (sett__attr(t->arg, &t->op[op], SETT__AT_PROXY_KIND) & ~2u) == 0;
}
static inline bool sett__fences_before(const sett__tape *t, uint32_t op)
{
    return op && t->op[op - 1].code == SETT__DEPWAIT;
}
bool sett__fence_async(near *, sett__core *, const sett__sync *);
clocks *sett__known_by(near *, sett__core *, const sett__warp *, uint32_t lane); /* what a lane knows now */
bool sett__clocks_own(near *, clocks **); /* nobody else has it from now on; false: out of memory */
clocks *sett__product_known(near *, product *); /* NULL: out of memory */

/* ---- agents.c, who.c: clusters, and who is who ----------------------------------------------------------------------  */
near *sett__near(sett__core *); /* of c->cta; NULL: out of memory */
bool sett__near_begin(sett__core *); /* of a cluster */
void sett__near_free(near *);
static inline uint32_t sett__agent(const near *n, uint32_t role, uint32_t rank, uint32_t index)
{
    return rank * n->per_block + (uint32_t)n->first[role] + index;
}
static inline walker *sett__walker(const near *n, const sett__core *c, const sett__warp *w)
{
    return &n->walker[c->cta->rank * n->warps + w->index];
}
static inline bool sett__is_threads(const near *n, uint32_t agent) /* of the generic proxy */
{
    const uint32_t in_block = agent % n->per_block;
    return in_block < n->warps || (n->first[OF_CP_ASYNC] >= 0 && in_block - (uint32_t)n->first[OF_CP_ASYNC] < n->warps);
}
void sett__agent_is(const near *, uint32_t agent, uint32_t *role, uint32_t *rank, uint32_t *index);
void sett__mbar_clear(near *, mbar *);
uint32_t sett__access_new(near *, const access *); /* its time; 0: out of memory */
uint32_t sett__round_of(const near *, const sett__core *, const sett__warp *, uint32_t op, int lane);
void sett__chunk_drop(near *, uint32_t chunk); /* NULL ones too */
access *sett__access_at(const near *, uint32_t time);
bool sett__no_memory(sett__core *, const sett__warp *, uint32_t op);

/* ---- edges.c: what orders accesses ----------------------------------------------------------------------------------- */
void sett__product_free(near *, product *);
bool sett__near_sync(sett__core *, near *, const sett__sync *);

/* ---- shared_cells.c, shared.c, lifetime.c: cells of shared memory ----------------------------------------------------- */
bool sett__shared_begin(near *, near_block *, const sett__core *);
void sett__shared_free(near *);
bool sett__shared_accesses(sett__core *, near *, const sett__accesses *);
bool sett__shared_effect(sett__core *, near *, const sett__effect *);
bool sett__shared_left(sett__core *, near *, const sett__cta *); /* a block has ended */
void sett__sweep(near *); /* forgets accesses of which nothing knows */

/* ---- proof.c: could another order have gone another way? ------------------------------------------------------------------ */
bool sett__proof_sync(sett__core *, near *, const sett__sync *); /* before the clocks change, but for the end of a phase and waits; false: out of memory */

/* ---- tell.c: reports --------------------------------------------------------------------------------------------------- */
bool sett__tell_conflict(actor *, uint8_t kind, uint32_t old, uint32_t old_lane, uint32_t lane, uint32_t at);
/* Nothing orders what happens behind the init of mbarrier `id` of a block; or a copy begins, and no fence shows it. */
bool sett__tell_init(sett__core *, near *, const sett__sync *, const sett__cta *of, uint32_t id, const mbar *);

#endif
