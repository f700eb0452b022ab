/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker knows of a launch. */
#ifndef SETT_JIT_SIM_CHECK_CHECKER_H
#define SETT_JIT_SIM_CHECK_CHECKER_H
#include "agents.h"

typedef struct sett__checker {
    struct near *near; /* clusters, the last one first */
    struct sett__global *global; /* NULL: it was not asked for yet */
    uint32_t by_chance; /* 1 + the operation that came in time by chance; 0: none was seen */
    uint64_t told[256]; /* pairs of lines that were told last, by kind: they are not put into words again */
} sett__checker;
sett__checker *sett__checker_of(sett__core *); /* NULL: out of memory */

#endif
