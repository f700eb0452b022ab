/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that overlap (programmatic dependent launch). PTX ISA, griddepcontrol: "If the prerequisite grid is using
 * griddepcontrol.launch_dependents, then the dependent grid must use griddepcontrol.wait to ensure correct functional execution." What
 * a kernel touches before its wait must not be what the launch before wrote, nor may it write what that one used. */
#ifndef SETT_JIT_SIM_CHECK_BEFORE_H
#define SETT_JIT_SIM_CHECK_BEFORE_H
#include "words.h"

typedef struct sett__before sett__before;
/* Of a launch that has ended: takes the cells over. NULL: the next one does not overlap it, or out of memory; then the cells are freed. */
sett__before *sett__before_make(const sett__program *, const char *kernel, sett__cells *);
/* A wait of lanes of a warp, by which a cluster knows that all is there. */
typedef struct sett__grid_wait {
    struct sett__grid_wait *next;
    uint32_t domain, agent, lanes, time;
} sett__grid_wait;
bool sett__grid_waited(sett__grid_wait **, const sett__actor *); /* false: out of memory */
/* An access that no wait precedes: is it told? */
void sett__before_meets(const sett__before *, const sett__grid_wait *, const sett__actor *, const sett__stamp *, uintptr_t at, uint64_t bytes);

#endif
