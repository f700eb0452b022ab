/* SPDX-License-Identifier: Apache-2.0 */
/* Global memory: races of threads, blocks and copies, what atomics and fences order, launches that overlap. */
#ifndef SETT_JIT_SIM_CHECK_GLOBAL_H
#define SETT_JIT_SIM_CHECK_GLOBAL_H
#include "words.h"

typedef struct sett__global sett__global;
sett__global *sett__global_make(const sett__core *, const sett__program *); /* of a launch. NULL: out of memory */
void sett__global_free(sett__global *); /* NULL is ignored */
struct sett__before *sett__global_end(sett__global *, const sett__program *, const sett__sim_launch *); /* before.h: for the next launch; NULL: it does not overlap */
/* What the watch is told. False: it has faulted. */
bool sett__global_accesses(sett__core *, near *, sett__global *, const sett__accesses *); /* of shared memory: what atomics order */
bool sett__global_effect(sett__core *, near *, sett__global *, const sett__effect *);     /* of copies, on global memory */
bool sett__global_sync(sett__core *, near *, sett__global *, const sett__sync *);
/* tell_global.c: two accesses, of which the actor's comes second; weak: NULL: nothing is. True. */
bool sett__tell_global(const sett__actor *, const sett__words *, uint8_t kind, const sett__stamp *old, const sett__stamp *now, uintptr_t at, const sett__weak *);
/* place.c. "X(3,17)"; "global memory, byte 12 of an allocation of 4096," */
void sett__put_global(const sett__core *, uintptr_t, sett__sink *);

#endif
