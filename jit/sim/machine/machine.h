/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: blocks, warps and workers as data, the loop that runs a warp, and what every step of a program needs: addresses, effects
 * on memory, atomics, faults.
 *
 * Workers run a program block by block, a warp of the block at a time until it waits (cta.c, exec.c). All state of a block is data,
 * apart from the worker: of each warp a program counter, a mask, a stack of masks and a frame of rows. So a warp that waits simply
 * returns, and blocks that wait for each other are resident together and take turns.
 *
 * A row is one element of a value for all 32 lanes. Rows lie in two kinds of frame: the warp's own, and the block's uniform one, where
 * constants, parameters and what depends on them and the block's index alone are computed once a launch or once a block. Rows that
 * depend on the thread's index but not on the block's are computed once a launch too, and keep their place in the warp's frame.
 *
 * A launch can be ended from outside or by its limit of time (halt.c). Whoever runs for long asks: each round of a loop, each
 * block and strip, and between those each few thousand rows (SETT__S_POLL, SETT__S_LONG). */
#ifndef SETT_JIT_SIM_MACHINE_H
#define SETT_JIT_SIM_MACHINE_H
#include "address.h"
#include "block.h"
#include "cluster.h"
#include "code.h"
#include "effect.h"
#include "find.h"
#include "shadow.h"
#include <string.h>

/* ---- small things ----------------------------------------------------------------------------------- */
static inline uint32_t sett__arg(const sett__tape *t, const sett__op *o, int i) /* SETT__NONE: it has not so many */
{
    return i < o->n_args ? t->arg[o->args + (uint32_t)i] : SETT__NONE;
}
static inline uint32_t sett__least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
static inline size_t sett__round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- cta.c: one block ---------------------------------------------------------------------------------------- */
sett__cta *sett__block_make(sett__core *, const sett__program *); /* with what a launch computes once; NULL: out of memory */
void sett__block_free(sett__cta *); /* NULL is ignored */
size_t sett__block_bytes(const sett__program *, const sett__sim_launch *); /* of one in memory; SIZE_MAX: more than there can be */
void sett__block_place(sett__core *, uint64_t number); /* as which block of the grid */
void sett__block_begin(sett__core *); /* it stops where the launch is to end */
sett__turn_end sett__block_go_on(sett__core *);

/* ---- exec.c ------------------------------------------------------------------------------------------------ */
/* Runs a warp until it ends, waits, pauses or faults; the new state is in it too. */
sett__state sett__exec(sett__core *, sett__warp *);
sett__state sett__exec_followed(sett__core *, sett__warp *); /* of a program that has .follow, which clusters run */
/* Straight-line code of another section. */
void sett__exec_section(sett__core *, sett__warp *, int section);

/* ---- pending.c: copies of cp.async, which are kept with their warp ------------------------------------------------ */
bool sett__cp_commit(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_wait(sett__core *, sett__warp *, const sett__insn *);
/* What one lane copies, now or later. `from` stays readable. False: out of memory. */
bool sett__pend(sett__core *, sett__warp *, int lane, void *to, const void *from, uint32_t bytes);
uint32_t sett__cp_seen(const sett__warp *);                               /* copies so far */
void sett__cp_flush(const sett__core *, sett__warp *, uint32_t lanes, uint32_t seen); /* the lanes' first so many reach memory */
void sett__forget(const sett__core *, sett__warp *); /* what is pending: a block begins */

/* ---- halt.c: ending a launch from outside, or by the clock; what the regions around an instruction tell ----------- */
bool sett__late(sett__core *); /* looks at the clock */
enum { SETT__POLL_MS = 50 };
bool sett__polled(const sett__sim_launch *, atomic_uint *halt); /* asks launch->poll; true: it has ended the launch */
/* Is the launch to end? */
static inline bool sett__ended(sett__core *c)
{
    return atomic_load_explicit(c->halt, memory_order_relaxed) || (--c->looks == 0 && sett__late(c));
}
/* The same of who may have been in a function of the caller's: it looks at the clock. */
static inline bool sett__ended_now(sett__core *c)
{
    return atomic_load_explicit(c->halt, memory_order_relaxed) || sett__late(c);
}
/* Faults: why it ends, and what the warp (NULL: none) was doing. Returns false. */
bool sett__halt(sett__core *, const sett__warp *, const sett__insn *);
void sett__put_lanes(sett__sink *, uint32_t mask); /* "lanes 0-3, 8" */
/* Faults: a warp's lanes are not all here, which are not, and where they went. Returns false. */
bool sett__missing_lanes(sett__core *, const sett__warp *, const sett__insn *, const char *what);
static inline bool sett__whole_warp(sett__core *c, const sett__warp *w, const sett__insn *i, const char *what)
{
    return w->active == w->live || sett__missing_lanes(c, w, i, what);
}

/* ---- faults.c ------------------------------------------------------------------------------------------------ */
sett_status sett__no_room(sett_error *); /* SETT_E_MEMORY, of a tape that is being decoded */
/* sett__op_where of the given tape. */
const char *sett__where(const sett__program *, uint32_t op, char *buf, size_t size);
/* Of an operation that a report's text names: it is a site of the finding that is reported next. */
const char *sett__where_noted(const sett__core *, uint32_t op, char *buf, size_t size);
/* The first fault of a core is kept; it is SETT_E_FAULT, or of the status given. In a launch that is checked it is a finding too, of a
 * sett_check_kind, or SETT__NO_KIND: what is no mistake of the kernel's. Returns false. */
enum { SETT__NO_KIND = -1 };
bool sett__fault(sett__core *, const sett__warp *, int lane, uint32_t op, int kind, const char *format, ...) SETT_PRINTF(6, 7);
/* The same of what the launch can go on behind: true, in a launch that is checked. */
bool sett__object(sett__core *, const sett__warp *, int lane, uint32_t op, int kind, const char *format, ...) SETT_PRINTF(6, 7);
bool sett__fault_as(sett__core *, sett_status, const sett__warp *, int lane, uint32_t op, const char *what);
void sett__deadlock(sett__core *, uint32_t first_waiting);

/* ---- waits.c: words for who waits ------------------------------------------------------------------------------- */
uint32_t sett__wait_op(const sett__core *, const sett__warp *); /* where it waits */
uint32_t sett__put_alike(const sett__cta *, uint32_t warp, sett__sink *); /* gives the next that waits otherwise */
void sett__put_mbarrier(const sett__program *, uint32_t index, sett__sink *); /* "mbarrier at byte 32 (number 1 of the 4 of k.c:12)" */
void sett__put_again(const sett__core *, const sett__mbarrier *, const char *before, sett__sink *); /* mbarrier.c: a wait that passed too early, if one did */
void sett__mbarrier_words(const sett__core *, const sett__cta *, uint32_t index, sett__sink *); /* where it is, and what it lacks */
void sett__put_waits(const sett__core *, sett__sink *); /* who of the cluster waits for mbarriers, if any */

/* ---- group.c: warp groups ---------------------------------------------------------------------------------------- */
enum { SETT__GROUP = 4 }; /* warps of one */
bool sett__full_warp(sett__core *, const sett__warp *, const sett__insn *); /* false: lanes are missing, and it has faulted */
bool sett__whole_group(sett__core *, const sett__warp *, const sett__insn *); /* false: it is not of four whole warps, and has faulted */
/* The first of its group's warps that has not begun product number nth; NULL: all have. */
const sett__warp *sett__wgmma_missing(const sett__cta *, const sett__warp *, uint32_t nth);
/* Where a lane's shfl.sync reads, as in the PTX ISA, whose lane operand b has five bits. how: SETT__SHFL_*. */
int sett__source_lane(int how, int lane, int b, int width);
/* Has the warp to wait at this instruction: it is tried again. Returns true. */
bool sett__try_again(sett__warp *, int what, uint32_t id);

/* ---- atomics.c ----------------------------------------------------------------------------------------------------- */
/* An element of a lane; was, old: NULL if there is none, or nobody asks. */
void sett__exchange(sett__core *, const sett__insn *, void *at, const unsigned char *was, const unsigned char *value, unsigned char *old);
/* An element of global memory by add, min or max, as a reduction of a copy does it: an atomic. */
void sett__reduce_into(sett__core *, uint8_t code, uint8_t dtype, void *to, const void *from);

uint64_t sett__random(uint64_t *state);
void sett__mingle(sett__core *, const sett__warp *); /* async/cluster.c: what it does now differs from order to order */

#endif
