/* SPDX-License-Identifier: Apache-2.0 */
/* What makes the engine faster and could be left out. holds.h says what each of these assumes. */
#ifndef SETT_JIT_SIM_FAST_H
#define SETT_JIT_SIM_FAST_H
#include "jit/sim/steps/steps.h"

/* ---- rewrite.c: what is changed in a tape before it is decoded ------------------------------------------------- */
/* tests_hold: for blocks in which every test of bounds is true; changes nothing where there is none. False: out of memory. */
bool sett__rewrite(const sett__tape *, bool tests_hold, sett__rewritten *);

/* ---- range.c: what is known of blocks before they run ------------------------------------------- */
typedef struct sett__range {
    int64_t lo, hi; /* lo <= x <= hi */
    uint64_t rest;
    uint8_t bits;   /* x = rest modulo 2^bits */
} sett__range;
typedef enum sett__proof { SETT__NOWHERE, SETT__OPEN, SETT__EVERYWHERE } sett__proof; /* OPEN: fewer blocks may show more */
bool sett__has_range(const sett__op *); /* if its operands have */
bool sett__find_facts(sett__program *, const uint32_t *test, uint32_t n_test); /* of the given tape; false: out of memory */
/* Are the tests true in every thread of blocks [from, to)? Room for a range per fact. */
sett__proof sett__prove(const sett__program *, const sett__sim_launch *, sett__range *, uint64_t from, uint64_t to);

/* ---- where values live ------------------------------------------------------------------------------------ */
typedef struct sett__slot {
    uint32_t home; /* the op whose storage this value is in: itself, what it is a view of, or what packs it */
    uint32_t off;  /* bytes into that storage */
    uint32_t at;   /* of a home: place in its frame, once given */
    uint32_t rows; /* stored: n, or 1 when every element is the same */
    uint32_t uses, first, last; /* positions in the tape; of homes */
    uint8_t lg, section;
    bool uniform, view, placed;
    bool flat; /* in memory's order: a lane's elements side by side, one access after another */
    uint32_t width; /* flat: elements of an access */
    uint32_t lazy;  /* of homes that are only loaded: in core->lazy, by pieces; else SETT__NONE */
} sett__slot;
/* flat.c; false: out of memory. The second needs the homes. */
bool sett__find_flat(const sett__tape *, sett__slot *);
bool sett__find_lazy(const sett__tape *, sett__slot *, uint32_t *n_lazy);

/* ---- strip.c: neighbouring blocks as one ------------------------------------------------------------ */
/* May a kernel's blocks, as far as its tape goes? kind: by op, set; 2: sett__arithmetic's `data`. */
bool sett__find_strips(const sett__tape *, const sett__slot *, uint8_t *kind);
uint32_t sett__strip_accesses(const sett__program *); /* 0: its instructions do not allow it */
void sett__strip_make(sett__core *); /* for a launch, by a block that has not begun; no memory, no strips */
uint32_t sett__strip_run(sett__core *, uint64_t most); /* blocks that it ran, from c->cta->at on; 0: none, or the launch is to end */

#endif
