/* SPDX-License-Identifier: Apache-2.0 */
/* What is changed in a tape before it is decoded. */
#ifndef SETT_JIT_SIM_REWRITE_H
#define SETT_JIT_SIM_REWRITE_H
#include "sim.h"

/* ---- fast/rewrite.c: what is changed in a tape before it is decoded -------------------------------------- */
typedef struct sett__part { uint32_t op, n; uint8_t align; } sett__part; /* an access that was joined with others */
typedef struct sett__parts { uint32_t first, n; } sett__parts;           /* n 0: an access as it was */
/* Strings, sites and the signature are those of the first tape, which must outlive it. */
typedef struct sett__rewritten {
    bool changed;       /* else there is nothing else in it */
    sett__tape tape;    /* its arena holds all that is new */
    uint32_t *origin;   /* by op: in the first tape */
    uint32_t *test;     /* ops of the first tape that must be true in all threads of a block */
    sett__part *part;   /* by op of the first tape */
    sett__parts *parts; /* by op: which of them */
    uint32_t n_test, n_part;
} sett__rewritten;
/* tests_hold: for blocks in which every test of bounds is true; changes nothing where there is none. False: out of memory. */
bool sett__rewrite(const sett__tape *, bool tests_hold, sett__rewritten *);

#endif
