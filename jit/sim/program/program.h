/* SPDX-License-Identifier: Apache-2.0 */
/* A tape becomes a program: which value lives where, and an instruction for each operation. */
#ifndef SETT_JIT_SIM_PROGRAM_H
#define SETT_JIT_SIM_PROGRAM_H
#include "jit/sim/fast/fast.h"
#include "jit/sim/mma/mma.h"

sett_status sett__decode(sett__program *, const sett__tape *given, sett_error *); /* of what its `rewritten` holds already */
/* slots.c. One slot an op. Fills every place; the frames' sizes, local_at and local_bytes go to the program. */
sett_status sett__slots(sett__program *, sett__slot *, sett_error *);
/* table.c */
bool sett__runs(uint8_t code); /* of class FORM: is there a function for it? */
sett__run_fn sett__run_of(const sett__program *, const sett__insn *);

#endif
