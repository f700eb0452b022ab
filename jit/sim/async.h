/* SPDX-License-Identifier: Apache-2.0 */
/* A part of inside.h, which includes it: blocks of a cluster together, mbarriers, and what goes on by itself.
 *
 * An async program runs cluster by cluster: all blocks of one are resident with one worker, and take turns. What goes on by
 * itself, such as a copy, is an event with one part or two: a copy reads its source, and later writes. When a part happens is the
 * policy's choice: at once (eager), when no warp of the cluster can go on without (lazy), or at any moment (random). */
#ifndef SETT_JIT_SIM_ASYNC_H
#define SETT_JIT_SIM_ASYNC_H

/* ---- form.c: operands of class FORM, and where places lie -------------------------------------------------- */
uint8_t sett__space_of(const sett__op *);                          /* of a root: a sett__space */
void sett__note_mbarriers(sett__program *, const sett__root *);  /* it is one of mbarriers */
bool sett__is_async(const sett__tape *);                         /* is it to be an async program? */
/* Bytes of a lane's root: is it there, inside and aligned? */
typedef struct sett__aim {
    int lane;
    uint32_t op, root; /* root: in program->root */
    const char *verb;  /* "load of" */
    int64_t at;        /* from the root's beginning, in bytes */
    uint64_t bytes, align;
    unsigned char *p;  /* found: where it lies; of shared memory: in which block, and where in its window */
    sett__cta *of;
    uint32_t offset;
} sett__aim;
bool sett__reach(sett__core *, const sett__warp *, sett__aim *); /* false: it has faulted */
/* Place number `place` of an operation of class FORM. */
bool sett__form_place(sett__core *, const sett__warp *, const sett__insn *, uint32_t place, int lane, uint64_t bytes, uint64_t align, sett__aim *);
/* Are so many bytes at an address of global memory in the allocation that `base` lies in? */
bool sett__check_address(sett__core *, const sett__warp *, int lane, uint32_t op, const char *verb, uint64_t base, uint64_t address,
    uint64_t bytes);
static inline sett__ref sett__form_ref(const sett__core *c, const sett__insn *i, uint32_t k)
{
    return c->program->place[i->form.operands + k];
}
/* Operand k in a lane: an integer or a Boolean; `absent` where there is none. */
int64_t sett__form_value(const sett__core *, const sett__warp *, const sett__insn *, uint32_t k, int lane, int64_t absent);
uint32_t sett__form_lanes(const sett__core *, const sett__warp *, const sett__insn *, uint32_t predicate); /* active ones where it is true */
static inline const sett__op *sett__form_op(const sett__core *c, const sett__insn *i)
{
    return &c->program->given->op[i->op];
}
static inline int32_t sett__form_attr(const sett__core *c, const sett__insn *i, int row)
{
    return sett__attr(c->program->given->arg, sett__form_op(c, i), row);
}
static inline const char *sett__form_text(const sett__core *c, const sett__insn *i)
{
    return sett__ops[sett__form_op(c, i)->code].text;
}

/* ---- mbarrier.c ------------------------------------------------------------------------------------------------ */
typedef struct sett__mbarrier {
    uint32_t count;   /* arrivals of a phase; 0: it is none */
    uint32_t pending; /* that this phase still waits for */
    uint32_t phase;   /* since its init */
    int32_t tx;       /* bytes that were announced and have not come; below 0: that came first */
    uint32_t op;      /* its init */
    uint64_t known;   /* accesses to peers when the last phase ended */
    uint32_t made;    /* in cluster->fences, when it was made */
    uint32_t seen;    /* the phase when a wait last went through */
    uint64_t came, before; /* who arrived in this phase, and in the last one, as bits; two threads may have the same */
} sett__mbarrier;
/* The barrier of a lane's place; NULL: faulted. */
sett__mbarrier *sett__mbarrier_at(sett__core *, const sett__warp *, const sett__insn *, uint32_t place, int lane, sett__cta **of);
/* Of who is at such an op: false: faulted. */
bool sett__mbarrier_come(sett__core *, const sett__warp *, int lane, uint32_t op, sett__mbarrier *, uint32_t arrivals);
bool sett__mbarrier_bytes(sett__core *, const sett__warp *, int lane, uint32_t op, sett__mbarrier *, int64_t bytes); /* expected; below 0: come */
bool sett__mbarrier_init(sett__core *, sett__warp *, const sett__insn *);
bool sett__mbarrier_arrive(sett__core *, sett__warp *, const sett__insn *);
bool sett__mbarrier_wait(sett__core *, sett__warp *, const sett__insn *);

/* ---- cta.c: one block of a cluster ----------------------------------------------------------------------------------- */
sett__cta *sett__cta_alone(sett__core *, const sett__program *); /* NULL: out of memory */
void sett__block_begin(sett__core *); /* it stops where the launch is to end */

/* ---- cluster.c --------------------------------------------------------------------------------------------------- */
enum { SETT__CLUSTER_BLOCKS = 16 };
typedef struct sett__event sett__event;
/* A tensor map that the kernel changed. */
enum { SETT__CHANGED = 4 };
typedef struct sett__changed {
    const void *at;
    uint32_t op;
    bool released, acquired;
} sett__changed;
typedef struct sett__cluster {
    uint32_t n, dim[3];
    sett__cta *cta[SETT__CLUSTER_BLOCKS]; /* by rank; they belong to it */
    sett__event **event;                  /* under way, the oldest first */
    uint32_t n_event, cap_event, issued;
    uint64_t moves;  /* what others may wait for: barriers, arrivals, bytes, ends */
    uint64_t turns;  /* of warps */
    uint64_t random; /* the state of its numbers */
    uint64_t order;  /* a digest of what completed when */
    uint32_t stuck;  /* times in a row that try_wait gave up, and nothing moved */
    bool arrived;    /* at its barrier, since somebody looked */
    bool met;        /* all were at its barrier once: each of them has begun */
    uint64_t touches, gathered; /* accesses to peers; those when its barrier ended last */
    uint32_t fences; /* that show mbarriers to copies */
    sett__changed changed[SETT__CHANGED]; /* the last maps that were changed, the newest first */
    uint32_t epoch;  /* of plain writes to shared memory: from one fence.proxy to the next */
} sett__cluster;
sett__cta *sett__cluster_make(sett__core *, const sett__program *); /* its block of rank 0; NULL: out of memory */
void sett__cluster_free(sett__cluster *);
void sett__cluster_place(sett__core *, uint64_t number);
void sett__cluster_begin(sett__core *);
sett__turn_end sett__cluster_go_on(sett__core *);
uint32_t sett__cluster_blocks(const sett__sim_launch *); /* of one */
/* rank.c */
bool sett__cluster_register(sett__core *, sett__warp *, const sett__insn *);
bool sett__cluster_arrive(sett__core *, sett__warp *, const sett__insn *);
bool sett__cluster_wait(sett__core *, sett__warp *, const sett__insn *);
bool sett__set_registers(sett__core *, sett__warp *, const sett__insn *);
/* Has the warp to wait at this instruction: it is tried again. Returns true. */
bool sett__try_again(sett__warp *, int what, uint32_t id);
void sett__stand_still(sett__core *); /* stall.c: faults: who of a cluster waits where, and for what */
/* waits.c */
uint32_t sett__wait_op(const sett__core *, const sett__warp *); /* where it waits */
uint32_t sett__put_alike(const sett__cta *, uint32_t warp, sett__sink *); /* gives the next that waits otherwise */
void sett__mbarrier_words(const sett__core *, const sett__cta *, uint32_t index, sett__sink *); /* where it is, and what it lacks */
void sett__put_waits(const sett__core *, sett__sink *); /* who of the cluster waits for mbarriers, if any */

/* ---- peers.c: shared memory of peers, and what is of a whole warp group ------------------------------------------------ */
bool sett__listens(const sett__tape *); /* may a block learn from memory what others do? */
bool sett__peer_touched(sett__core *, const sett__warp *, int lane, uint32_t op, sett__cta *of); /* false: faulted */
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
void sett__mark_writes(sett__program *); /* of a program that is decoded */
bool sett__granules_make(sett__core *, sett__cta *); /* false: out of memory */
bool sett__proxy_fence(sett__core *, sett__warp *, const sett__insn *);
bool sett__mbarrier_fence(sett__core *, sett__warp *, const sett__insn *);
void sett__map_changed(sett__cluster *, const void *at, uint32_t op);
bool sett__map_seen(sett__core *, const sett__warp *, int lane, uint32_t op, const void *at); /* false: a fence is missing; faulted */
void sett__mark_box(const sett__cta *, uint32_t op, uint32_t at, uint32_t swizzle, uint32_t row); /* 16 bytes of one; swizzle: as of a map */
void sett__mark_bytes(const sett__cta *, uint32_t at, uint32_t bytes); /* copied by no map */
void sett__mark_plain(const sett__cta *, uint32_t op, uint32_t at, uint32_t bytes); /* written by a plain access */
/* Is what lies there seen? at: in the window of c->cta. False: faulted. Only of programs with marks. */
bool sett__ask_bytes(sett__core *, const sett__warp *, int lane, uint32_t op, uint32_t at, uint32_t bytes);
bool sett__ask_piece(sett__core *, const sett__warp *, uint32_t op, uint32_t at, uint32_t bits); /* bits: of the descriptor, as of a granule */

/* ---- async.c: events --------------------------------------------------------------------------------------------- */
enum { SETT__EVENT_CP, SETT__EVENT_LOAD, SETT__EVENT_STORE, SETT__EVENT_WGMMA }; /* STORE and WGMMA complete by groups */
typedef bool (*sett__event_fn)(sett__core *, sett__event *, uint32_t part); /* false: it has faulted, at event->op */
struct sett__event {
    sett__event_fn part;
    uint8_t kind, parts, done;
    bool waited;      /* it completes at mbarriers: */
    uint32_t mbar;    /* in the tables of: */
    uint16_t ranks;   /* these blocks */
    uint16_t reads, writes; /* blocks whose shared memory part 0 reads; the last part writes */
    sett__cta *cta;   /* whose it is */
    sett__warp *warp;
    int lane;
    uint32_t op, number;
    uint32_t group;   /* of its lane; of WGMMA, of its warp */
    uint32_t nth;     /* WGMMA: of its warp's products */
    size_t bytes;
    _Alignas(16) unsigned char data[];
};
/* An event with so many bytes of data, to be filled in; NULL: out of memory, and faulted. */
sett__event *sett__event_make(sett__core *, sett__warp *, const sett__insn *, int lane, sett__event_fn, uint32_t parts, size_t bytes);
bool sett__event_begin(sett__core *, sett__event *); /* takes it over; false: a part of it has faulted */
bool sett__events_can(const sett__cluster *); /* may any of them happen? */
bool sett__events_chance(sett__core *); /* random: some happen between turns; false: faulted */
bool sett__events_push(sett__core *);   /* one of them can: one that is waited for, else the oldest; false: faulted */
bool sett__events_left(sett__core *, const sett__cta *); /* a block has ended: may it? false: faulted */
void sett__events_forget(sett__cluster *);
uint64_t sett__random(uint64_t *state);
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
/* memory.c: elements of global memory by add, min or max, each an atomic. */
void sett__reduce_into(sett__core *, uint8_t code, uint8_t dtype, void *to, const void *from);
#endif
