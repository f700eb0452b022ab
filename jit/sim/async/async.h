/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a cluster together, mbarriers, and what goes on by itself.
 *
 * An async program runs cluster by cluster: all blocks of one are resident with one worker, and take turns. What goes on by
 * itself, such as a copy, is an event with one part or two: a copy reads its source, and later writes. When a part happens is the
 * policy's choice: at once (eager), when no warp of the cluster can go on without (lazy), or at any moment (random). */
#ifndef SETT_JIT_SIM_ASYNC_H
#define SETT_JIT_SIM_ASYNC_H
#include "jit/sim/machine/machine.h"

/* ---- mbarrier.c ------------------------------------------------------------------------------------------------ */
/* The barrier of a lane's place; NULL: faulted. */
sett__mbarrier *sett__mbarrier_at(sett__core *, const sett__warp *, const sett__insn *, uint32_t place, int lane, sett__cta **of);
/* Of who is at such an op: false: faulted. */
bool sett__mbarrier_come(sett__core *, const sett__warp *, int lane, uint32_t op, sett__mbarrier *, uint32_t arrivals);
bool sett__mbarrier_bytes(sett__core *, const sett__warp *, int lane, uint32_t op, sett__mbarrier *, int64_t bytes); /* expected; below 0: come */
bool sett__mbarrier_init(sett__core *, sett__warp *, const sett__insn *);
bool sett__mbarrier_arrive(sett__core *, sett__warp *, const sett__insn *);
bool sett__mbarrier_wait(sett__core *, sett__warp *, const sett__insn *);

/* ---- cluster.c --------------------------------------------------------------------------------------------------- */
sett__cta *sett__cluster_make(sett__core *, const sett__program *); /* its block of rank 0; NULL: out of memory */
void sett__cluster_free(sett__cluster *);
void sett__cluster_place(sett__core *, uint64_t number);
void sett__cluster_begin(sett__core *);
sett__turn_end sett__cluster_go_on(sett__core *);
/* rank.c */
bool sett__cluster_register(sett__core *, sett__warp *, const sett__insn *);
bool sett__cluster_arrive(sett__core *, sett__warp *, const sett__insn *);
bool sett__cluster_wait(sett__core *, sett__warp *, const sett__insn *);
bool sett__set_registers(sett__core *, sett__warp *, const sett__insn *);
void sett__stand_still(sett__core *); /* stall.c: faults: who of a cluster waits where, and for what */
void sett__put_graph(const sett__core *, sett__sink *); /* of a launch that is checked: the same, and who could still bring it */
/* spin.c: loops that wait for memory */
bool sett__spins_for_ever(sett__core *, uint64_t not_begun); /* it faults then. False: something else may end its loops */
const sett__insn *sett__spun_on(const sett__core *, const sett__warp *); /* what it reads there; NULL: it waits for something else */
bool sett__answers(const sett__core *, const sett__insn *, const sett__insn *spun); /* does it write that? */

/* ---- ahead.c: the code that a warp may still run ------------------------------------------------------------------------ */
typedef bool (*sett__brings_fn)(const sett__core *, const sett__insn *, const void *what);
uint32_t sett__ahead(const sett__core *, const sett__warp *, sett__brings_fn, const void *what); /* the first operation that does; SETT__NONE */
uint32_t sett__end_of(const sett__program *, uint32_t opener); /* the instruction that ends the region, or the arm, that this one begins */

/* ---- peers.c: shared memory of peers, and what is of a whole warp group ------------------------------------------------ */
bool sett__listens(const sett__tape *); /* may a block learn from memory what others do? */
void sett__peers_known(sett__cta *, uint64_t when); /* it knows of the accesses to it until then */
bool sett__peers_left(sett__core *, const sett__cta *); /* a block has ended: false: it may not, and has faulted */
void sett__note_group(sett__warp *, uint32_t op);
bool sett__groups_left(sett__core *, const sett__cta *); /* the same */

/* ---- proxy.c: what wrote shared memory, for operations that read it otherwise than by plain accesses ---------------------- */
typedef struct sett__granule { /* 16 bytes of shared memory */
    uint32_t when; /* a plain access wrote them: the epoch; else 0 */
    uint32_t op;   /* that wrote them */
    bool boxed;    /* it is a box that lies there by a swizzle: */
    uint8_t bits;  /* of the address from 7 on that are exchanged with those from 4 on */
} sett__granule;
const sett__watch *sett__proxy_watch(const sett__tape *); /* of a program of this tape; NULL: nothing in it asks */
bool sett__granules_make(sett__core *, sett__cta *); /* false: out of memory */
bool sett__proxy_fence(sett__core *, sett__warp *, const sett__insn *);
bool sett__mbarrier_fence(sett__core *, sett__warp *, const sett__insn *);
void sett__map_changed(sett__cluster *, const void *at, uint32_t op);
bool sett__map_seen(sett__core *, const sett__warp *, int lane, uint32_t op, const void *at); /* false: a fence is missing; faulted */

/* ---- async.c: events --------------------------------------------------------------------------------------------- */
/* An event with so many bytes of data, to be filled in; NULL: out of memory, and faulted. */
sett__event *sett__event_make(sett__core *, sett__warp *, const sett__insn *, int lane, sett__event_fn, uint32_t parts, size_t bytes);
/* On so many bytes, through the async proxy; the caller says where. */
static inline sett__effect sett__event_effect(const sett__event *e, uint8_t how, uint64_t bytes)
{
    return (sett__effect){.warp = e->warp, .lane = e->lane, .agent = true, .how = how, .proxy = SETT__ASYNC_PROXY, .op = e->op, .bytes = bytes};
}
bool sett__event_begin(sett__core *, sett__event *); /* takes it over; false: a part of it has faulted */
bool sett__events_can(const sett__cluster *); /* may any of them happen? */
bool sett__event_can(const sett__cluster *, uint32_t at); /* may this one, before another of its warp? */
bool sett__event_step(sett__core *, uint32_t at); /* its next part happens; false: faulted */
bool sett__events_chance(sett__core *); /* random: some happen between turns; false: faulted */
bool sett__events_push(sett__core *);   /* one of them can: one that is waited for, else the oldest; false: faulted */
bool sett__events_left(sett__core *, const sett__cta *); /* a block has ended: may it? false: faulted */
void sett__events_forget(sett__cluster *);
void sett__note_order(sett__cluster *, uint64_t what); /* what completed, or arrived, after so many turns of warps */
bool sett__bulk_commit(sett__core *, sett__warp *, const sett__insn *);
bool sett__bulk_wait(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_arrive(sett__core *, sett__warp *, const sett__insn *);
bool sett__wgmma_wait(sett__core *, sett__warp *, const sett__insn *);

/* ---- bulk.c: copies of bytes; tma.c: boxes ------------------------------------------------------------------------- */
bool sett__bulk_load(sett__core *, sett__warp *, const sett__insn *);
bool sett__bulk_store(sett__core *, sett__warp *, const sett__insn *);
bool sett__store_async(sett__core *, sett__warp *, const sett__insn *);
bool sett__tma_load(sett__core *, sett__warp *, const sett__insn *);
bool sett__tma_store(sett__core *, sett__warp *, const sett__insn *);
bool sett__tma_prefetch(sett__core *, sett__warp *, const sett__insn *);
bool sett__map_address(sett__core *, sett__warp *, const sett__insn *);
bool sett__map_write(sett__core *, sett__warp *, const sett__insn *);
bool sett__policy(sett__core *, sett__warp *, const sett__insn *);
/* Where a load goes: the same place of each block of the mask, and its barrier there. False: faulted. */
typedef struct sett__landing {
    uint32_t n, mbar; /* mbar: in the tables */
    uint16_t ranks;
    uint32_t offset; /* in the window */
    sett__cta *to[SETT__CLUSTER_BLOCKS];
    sett__mbarrier *done[SETT__CLUSTER_BLOCKS];
} sett__landing;
bool sett__landing_of(sett__core *, const sett__warp *, const sett__insn *, int lane, uint32_t done, uint32_t mask, uint64_t bytes, uint64_t align, sett__landing *);
bool sett__landed(sett__core *, sett__event *, const sett__landing *, uint64_t bytes); /* completes the bytes */

#endif
