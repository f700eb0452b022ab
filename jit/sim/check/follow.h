/* SPDX-License-Identifier: Apache-2.0 */
/* Following what nobody has written (machine/shadow.h): an instruction of a warp at a time. */
#ifndef SETT_JIT_SIM_CHECK_FOLLOW_H
#define SETT_JIT_SIM_CHECK_FOLLOW_H
#include "jit/sim/mma/mma.h"

typedef struct follow {
    sett__core *c;
    sett__warp *w;
    const sett__insn *i;
    sett__shadow *s;
    uint32_t *mask, *read; /* of the warp */
} follow;

/* ---- follow.c ----------------------------------------------------------------------------------------------------- */
/* Lanes in which one of `bytes` bytes of an operand is poison, from byte `at` of a thread's on; *read: who read it. */
uint32_t sett__poison_of(const follow *, sett__ref, uint32_t at, uint32_t bytes, uint32_t *read);
/* Byte k of an operand of n elements, which may be one row for all. */
uint32_t sett__poison_byte(const follow *, sett__ref, uint32_t k, uint8_t lg, uint32_t *read);
void sett__poison_give(const follow *, sett__ref, uint32_t at, uint32_t bytes, uint32_t lanes, uint32_t read); /* all of these bytes */
/* Operand of n rows decides, in these lanes, what `how` says: told if it is poison. */
void sett__poison_use(const follow *, sett__ref, uint32_t n, uint8_t lg, uint32_t lanes, const char *how);
void sett__poison_tell(sett__core *, const sett__warp *, uint32_t lanes, uint32_t op, uint32_t read, const char *how);

/* ---- memory.c ----------------------------------------------------------------------------------------------------- */
bool sett__follow_load(follow *);
bool sett__follow_store(follow *);
bool sett__follow_atom(follow *);
bool sett__follow_cp_async(follow *);
bool sett__follow_matrix(follow *, bool store); /* ldmatrix, stmatrix */

/* ---- values.c ------------------------------------------------------------------------------------------------------ */
void sett__follow_row(const follow *); /* behind a step of arithmetic */

#endif
