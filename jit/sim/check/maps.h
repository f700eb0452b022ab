/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps in global memory. Copies read them by a proxy of their own, which is not acquired when a kernel starts. PTX ISA,
 * membar/fence, on fence.proxy.tensormap: what was written to a map is seen behind a release by its writer and an acquire of this map by
 * who copies, whoever wrote it: this kernel, one before, or a copy of the host's. */
#ifndef SETT_JIT_SIM_CHECK_MAPS_H
#define SETT_JIT_SIM_CHECK_MAPS_H
#include "before.h"

typedef struct sett__map_acquire {
    struct sett__map_acquire *next;
    uintptr_t at;
    uint32_t domain, agent, lanes, time;
    uint32_t by, epoch; /* who wrote it last, as far as that was ordered before; by 0: nobody in this launch */
} sett__map_acquire;
bool sett__map_acquired(sett__map_acquire **, const sett__actor *, uintptr_t at, const sett__stamp *seen); /* false: out of memory */
/* A copy of the actor's begins. by: who wrote it last; NULL: nobody in this launch. before: launches that wrote maps (before.h). */
void sett__map_used(const sett__map_acquire *, const sett__before *, const sett__stamp *by, const sett__actor *, uintptr_t at);
void sett__map_acquires_free(sett__map_acquire *);

#endif
