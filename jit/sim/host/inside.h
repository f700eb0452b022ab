/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share: a block, or a cluster of them, by the kind of its program. */
#ifndef SETT_JIT_SIM_HOST_H
#define SETT_JIT_SIM_HOST_H
#include "jit/sim/program/program.h"

sett__cta *sett__cta_make(sett__core *, const sett__program *); /* one, or all of a cluster; with what a launch computes once; NULL: out of memory */
void sett__cta_free(sett__cta *);
void sett__cta_place(sett__core *, uint64_t number); /* as which block of the grid */
bool sett__cta_begin(sett__core *); /* false: the launch is to end */
sett__turn_end sett__cta_go_on(sett__core *);

#endif
