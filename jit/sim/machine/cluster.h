/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: what a cluster of blocks is, as data. async/ has what it does. */
#ifndef SETT_JIT_SIM_CLUSTER_H
#define SETT_JIT_SIM_CLUSTER_H
#include "block.h"

typedef struct sett__mbarrier {
    uint32_t count;   /* arrivals of a phase; 0: it is none */
    uint32_t pending; /* that this phase still waits for */
    uint32_t phase;   /* since its init */
    int32_t tx;       /* bytes that were announced and have not come; below 0: that came first */
    uint32_t op;      /* its init, or inval */
    uint32_t expects; /* who announced bytes last, + 1; 0: nobody */
    uint64_t known;   /* accesses to peers when the last phase ended */
    uint32_t made;    /* in cluster->fences, when it was made */
    uint32_t seen;    /* the phase when a wait last went through */
    uint32_t waited, again; /* warps that all of have waited since the last phase ended; 1 + where one of them did so again; 0: none */
    uint64_t came, before; /* who arrived in this phase, and in the last one, as bits; two threads may have the same */
} sett__mbarrier;

enum { SETT__CLUSTER_BLOCKS = 16 };
/* What goes on by itself: async/async.c. */
typedef struct sett__event sett__event;
enum { SETT__EVENT_CP, SETT__EVENT_LOAD, SETT__EVENT_STORE, SETT__EVENT_WGMMA }; /* STORE and WGMMA complete by groups */
typedef bool (*sett__event_fn)(sett__core *, sett__event *, uint32_t part); /* false: it has faulted, at event->op */
struct sett__event {
    sett__event_fn part;
    uint8_t kind, parts, done;
    bool waited;      /* it completes at mbarriers: */
    uint32_t mbar;    /* in the tables of: */
    uint16_t ranks;   /* these blocks */
    uint16_t reads, writes; /* blocks whose shared memory part 0 reads; the last part writes */
    sett__cta *cta;   /* whose it is */
    sett__warp *warp;
    int lane;
    uint32_t op, number;
    uint32_t group;   /* of its lane; of WGMMA, of its warp */
    uint32_t nth;     /* WGMMA: of its warp's products */
    size_t bytes;
    void *told;       /* of who is told of it */
    _Alignas(16) unsigned char data[];
};
/* A tensor map that the kernel changed. */
enum { SETT__CHANGED = 4 };
typedef struct sett__changed {
    const void *at;
    uint32_t op;
    bool released, acquired;
} sett__changed;
typedef struct sett__cluster {
    uint32_t n, dim[3];
    sett__cta *cta[SETT__CLUSTER_BLOCKS]; /* by rank; they belong to it */
    sett__event **event;                  /* under way, the oldest first */
    uint32_t n_event, cap_event, issued;
    uint64_t moves;  /* what others may wait for: barriers, arrivals, bytes, ends */
    uint64_t turns;  /* of warps */
    uint64_t random; /* the state of its numbers */
    uint64_t order;  /* a digest of what completed when */
    const sett__warp *went;  /* the warp that was chosen last */
    uint64_t mingled, steps; /* of an order that is chosen: what others may tell from another order; steps that changed something, + 1 */
    const sett__warp *sleeper; /* random: the others go on without it, until they have nothing to do; NULL: none */
    uint32_t stuck;  /* times in a row that try_wait gave up, and nothing moved */
    bool arrived;    /* at its barrier, since somebody looked */
    bool met;        /* all were at its barrier once: each of them has begun */
    uint64_t touches, gathered; /* accesses to peers; those when its barrier ended last */
    uint32_t fences; /* that show mbarriers to copies */
    sett__changed changed[SETT__CHANGED]; /* the last maps that were changed, the newest first */
    uint32_t epoch;  /* of plain writes to shared memory: from one fence.proxy to the next */
} sett__cluster;

#endif
