/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of global memory: who wrote each of them last in this launch, and who read it since. They are made on demand, a tile of 512
 * bytes at a time; a tile that whole rows touch has one entry for 64 bytes, else one for 4 bytes, or for each byte where a part of a
 * word is touched. Strong accesses (atomics, volatile ones, reductions of copies) are kept among the reads: they do not race with
 * each other. */
#ifndef SETT_JIT_SIM_CHECK_CELLS_H
#define SETT_JIT_SIM_CHECK_CELLS_H
#include "check.h"

enum { SETT__STRONG = 4, SETT__BY_ITSELF = 8, SETT__BY_THREAD = 16, SETT__ALL_LANES = 255 }; /* BY_ITSELF: a copy's */
typedef struct sett__stamp {
    uint32_t domain;   /* the cluster: its number in the launch + 1; 0: nobody */
    uint32_t epoch;    /* the time of its cluster */
    uint32_t op;
    uint32_t when;     /* STRONG: the number of the access among those */
    uint32_t base;     /* low bits of the address where lane `lane` begins */
    uint16_t each;     /* bytes of a lane, the next of which begins behind them; 0: all are of `lane` */
    uint16_t agent;
    uint16_t next;     /* of a chain in the tile; 0: the last */
    uint8_t lane;      /* or ALL_LANES */
    uint8_t how;       /* READ, WRITE, STRONG, BY_ITSELF */
    uint8_t proxy, scope;
    uint8_t width;     /* STRONG: log2 of an element's bytes */
} sett__stamp;
static inline uint8_t sett__stamp_lane(const sett__stamp *s, uintptr_t p)
{
    return s->each ? (uint8_t)(s->lane + ((uint32_t)p - s->base) / s->each) : s->lane;
}

static inline bool sett__same_lanes(const sett__stamp *a, const sett__stamp *b)
{
    return a->each == b->each && (a->each ? a->base - a->lane * (uint32_t)a->each == b->base - b->lane * (uint32_t)b->each : a->lane == b->lane);
}

typedef struct sett__cells sett__cells;
/* Is told of each older access that the new one meets at bytes [lo, hi), and that is no read beside a read, nor strong beside strong.
 * False: the launch is to end. */
typedef bool (*sett__meet_fn)(void *with, const sett__stamp *old, const sett__stamp *now, uintptr_t lo, uintptr_t hi);
typedef struct sett__cells_use {
    sett__meet_fn meet;
    bool (*before)(void *with, const sett__stamp *old, const sett__stamp *now); /* is it ordered before, whatever lanes? */
    void *with;
    bool alone; /* nothing orders clusters: two readers of different ones stand for all */
} sett__cells_use;
sett__cells *sett__cells_make(const sett__extent *, uint32_t n); /* of a launch with these tensors. NULL: out of memory */
void sett__cells_free(sett__cells *); /* NULL is ignored */
/* False: out of memory (*full), or the launch is to end. */
bool sett__cells_touch(sett__cells *, const sett__cells_use *, const sett__stamp *now, uintptr_t at, uint64_t bytes, bool *full);
/* Who used these bytes so: the first that is found; NULL: nobody. how: SETT__BY_THREAD besides: through the generic proxy. */
const sett__stamp *sett__cells_used(sett__cells *, uintptr_t at, uint64_t bytes, uint8_t how, uintptr_t *where);

#endif
