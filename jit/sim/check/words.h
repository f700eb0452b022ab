/* SPDX-License-Identifier: Apache-2.0 */
/* What clusters know of each other. A release leaves with its word what its thread knows; an acquire that sees that word takes it
 * over, as news with the clock of its warp: whoever is ordered behind that clock knows it too. Most clusters never learn anything.
 *
 * Everything is kept twice: as the kernel wrote it, and as if each strong access had acquired and released at the scope of the system.
 * What is ordered by the second alone lacks an order or a scope, of the operation that the second names. */
#ifndef SETT_JIT_SIM_CHECK_WORDS_H
#define SETT_JIT_SIM_CHECK_WORDS_H
#include "agents.h"
#include "cells.h"

enum { SETT__WRITTEN, SETT__STRONGEST, SETT__WAYS };
enum { SETT__RELEASED, SETT__ACQUIRED, SETT__SIDES };
/* Who acts: lanes of a warp, in the cluster `domain`; or what it began. */
typedef struct sett__actor {
    near *n;
    sett__core *c;
    const sett__warp *w;
    const clocks *known; /* what these lanes know */
    uint32_t domain, rank, agent, lanes, op, time;
} sett__actor;
/* Why what the second way orders is not ordered. */
typedef struct sett__weak {
    uint32_t op, other; /* the operation, and the one across from it */
    enum { SETT__NOT_WEAK, SETT__NO_RELEASE, SETT__NO_ACQUIRE, SETT__NARROW_RELEASE, SETT__NARROW_ACQUIRE,
        SETT__EARLY_FENCE /* it releases what came before its fence alone */ } why;
} sett__weak;
/* A strong access: to a word, by an order and a scope (sett_sem, sett_scope). */
typedef struct sett__strong {
    uintptr_t word;
    uint32_t home; /* of shared memory: the cluster's domain; else 0 */
    uint32_t when; /* its number among these */
    uint8_t how, sem, scope;
} sett__strong;

typedef struct sett__words sett__words;
sett__words *sett__words_make(bool explains); /* STRONGEST is kept too. NULL: out of memory */
void sett__words_free(sett__words *);
/* A strong access that reads and writes reads first. What the actor learns of its own cluster goes to its clocks, so that `known` is old
 * afterwards; so it is behind a release. False: out of memory. */
bool sett__words_read(sett__words *, const sett__actor *, const sett__strong *);
bool sett__words_write(sett__words *, const sett__actor *, const sett__strong *);
bool sett__words_fence(sett__words *, const sett__actor *, uint8_t scope); /* what it acquires, then what it releases */
bool sett__words_fenced(sett__words *, const sett__actor *, uint8_t scope);
void sett__words_plain(sett__words *, uintptr_t at, uint64_t bytes); /* a plain write: who reads it sees no release before */
void sett__words_left(sett__words *, uint32_t domain, uint32_t blocks); /* one of a cluster's blocks has ended */
void sett__words_begin(sett__words *, uint32_t blocks);                 /* a cluster begins: what those knew that have ended goes */
bool sett__words_used(const sett__words *);
/* What a strong access wrote comes before what follows a read of it: has the actor, or who is ordered before it, read it since? */
bool sett__words_observed(const sett__words *, const sett__actor *, const sett__stamp *old, uintptr_t at);
/* Is the older access, of another cluster, ordered before what the actor does, by what clusters told each other? fenced: is a fence of the
 * async proxy on the way, too (1), of who had the older access (2)? weak: of each side: the operation, and of STRONGEST why not as it is written. */
bool sett__words_before(const sett__words *, int way, const sett__actor *, const sett__stamp *old, uint8_t lane, int *fenced, sett__weak weak[SETT__SIDES]);
/* Another of the actor's cluster, before whom it is, as it is written: its warp, lanes, and the operation that acquired. */
bool sett__words_knower(const sett__words *, const sett__actor *, const sett__stamp *old, uint8_t lane, uint32_t *by, uint32_t *lanes, uint32_t *op);
/* The actor has acquired what the older one's cluster released later, and that did not include it: by which operation. */
bool sett__words_missed(const sett__words *, const sett__actor *, const sett__stamp *old, uint32_t *op);

#endif
