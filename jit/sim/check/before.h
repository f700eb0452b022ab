/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that overlap (programmatic dependent launch). PTX ISA, griddepcontrol: "If the prerequisite grid is using
 * griddepcontrol.launch_dependents, then the dependent grid must use griddepcontrol.wait to ensure correct functional execution." What
 * a kernel touches before its wait must not be what the launch before wrote, nor may it write what that one used. */
#ifndef SETT_JIT_SIM_CHECK_BEFORE_H
#define SETT_JIT_SIM_CHECK_BEFORE_H
#include "words.h"

typedef struct sett__before sett__before;
/* Of a launch that has ended: takes the cells over. NULL: the next one does not overlap it, or out of memory; then the cells are freed. */
/* early: each block let the next launch begin before it waited itself: then what it did not wait for may still run, too. */
sett__before *sett__before_make(const sett__program *, const sett__sim_launch *, sett__cells *, bool early);
/* The last of the launches that wrote maps which wrote these bytes: the operation, and its tape. SETT__NONE: none is known. */
uint32_t sett__before_wrote(const sett__before *, uintptr_t at, uint64_t bytes, const sett__tape **);
/* A wait of lanes of a warp, by which a cluster knows that all is there. */
typedef struct sett__grid_wait {
    struct sett__grid_wait *next;
    uint32_t domain, agent, lanes, time;
} sett__grid_wait;
/* All of a launch, by clusters: most accesses ask those of their own. */
enum { SETT__WAIT_LISTS = 1024 };
typedef struct sett__grid_waits { sett__grid_wait *of[SETT__WAIT_LISTS]; } sett__grid_waits;
bool sett__grid_behind(const sett__grid_waits *, const sett__actor *); /* has it waited? */
bool sett__grid_waited(sett__grid_waits *, const sett__actor *); /* false: out of memory */
void sett__grid_waits_end(sett__grid_waits *);
/* An access that no wait precedes, or no fence behind the wait where it needs one: is it told? */
void sett__before_meets(const sett__before *, const sett__grid_waits *, const sett__grid_waits *fenced, const sett__actor *, const sett__stamp *, uintptr_t at, uint64_t bytes);

#endif
