/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions do, as sett__run_fn: arithmetic, control, memory, what lanes ask each other, printing. */
#ifndef SETT_JIT_SIM_STEPS_H
#define SETT_JIT_SIM_STEPS_H
#include "jit/sim/machine/machine.h"

extern const sett__run_fn sett__steps[SETT__N_STEPS]; /* steps.c; of SETT__S_FORM NULL: those are by code */
/* told.c: an access that tells its effects to the program's watch; NULL: the watch does not ask for them. */
sett__run_fn sett__told_step(const sett__program *, const sett__insn *);

/* ---- memory.c -------------------------------------------------------------------------------------------------- */
bool sett__load(sett__core *, sett__warp *, const sett__insn *);
bool sett__store_fits(sett__core *, sett__warp *, const sett__insn *); /* is it inside, and aligned? false: faulted. Of a plain program */
bool sett__store(sett__core *, sett__warp *, const sett__insn *);
bool sett__atom(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_async(sett__core *, sett__warp *, const sett__insn *);
/* Where a whole warp of each of `blocks` blocks has its access, if one after another and inside; NULL: not so, or not known. */
unsigned char *sett__straight(const sett__core *, const sett__warp *, const sett__insn *, uint32_t blocks);
void sett__store_whole(const sett__core *, const sett__insn *, unsigned char *to, const unsigned char *from, size_t bytes);

/* ---- warp.c: votes and the like, named barriers----------------------- */
bool sett__vote(sett__core *, sett__warp *, const sett__insn *);
bool sett__match(sett__core *, sett__warp *, const sett__insn *);
bool sett__redux(sett__core *, sett__warp *, const sett__insn *);
bool sett__elect(sett__core *, sett__warp *, const sett__insn *);
bool sett__special(sett__core *, sett__warp *, const sett__insn *);
bool sett__named_barrier(sett__core *, sett__warp *, const sett__insn *);

/* ---- inline.c: stand-ins of inline PTX ------------------------------------------------------------------ */
sett_status sett__find_calls(sett__program *, sett_error *); /* fills call */
void sett__free_calls(sett__program *);
bool sett__is_call(const sett__tape *, const sett__op *); /* else it is none, or nothing is done */
uint32_t sett__call_of(const sett__program *, uint32_t op); /* of the given tape */
bool sett__stand_in(sett__core *, sett__warp *, const sett__insn *); /* a step */

/* The calls that a program makes instead of inline PTX, by index; NULL: index is past the last. */
const sett__call *sett__program_call(const sett__program *, uint32_t index);
/* Can a function of these types (NULL: there is none) serve the call? SETT_E_TARGET, SETT_E_DTYPE: no, and why. */
sett_status sett__call_check(const sett__program *, const sett__call *, const char *kernel, const char *types, sett_error *);
/* The name of its stand-in, *len bytes; 0: it has none. */
const char *sett__call_name(const sett__call *, size_t *len);

/* ---- print.c ---------------------------------------------------------------------------------------------------- */
/* SETT_E_VERIFY: a format has other conversions than the op has operands. */
bool sett__print(sett__core *, sett__warp *, const sett__insn *);
bool sett__check_assert(sett__core *, sett__warp *, const sett__insn *);

#endif
