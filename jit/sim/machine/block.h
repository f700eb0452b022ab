/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: a block, its warps, and the worker that runs them. */
#ifndef SETT_JIT_SIM_BLOCK_H
#define SETT_JIT_SIM_BLOCK_H
#include "apart.h"
#include "code.h"

/* ---- a warp ------------------------------------------------------------------------------ */
/* PAUSED: others get their turn; WAITING: until what it waits for has come. */
typedef enum sett__state { SETT__RUNNING, SETT__WAITING, SETT__PAUSED, SETT__DONE, SETT__FAULTED } sett__state;
/* What a warp that is not RUNNING waits for: a barrier (0: the block's, else a named one), or, PAUSED, what others write to memory. */
typedef struct sett__wait {
    /* FOR_POLL: it has asked an mbarrier in vain. From FOR_MBARRIER on, the instruction at pc is tried again. FOR_EVENTS: copies, products. */
    enum { SETT__FOR_BARRIER, SETT__FOR_TURN, SETT__FOR_MEMORY, SETT__FOR_POLL, SETT__FOR_MBARRIER, SETT__FOR_EVENTS, SETT__FOR_CLUSTER,
        SETT__FOR_REGISTERS } what;
    uint32_t id; /* of a barrier; of an mbarrier, in the block's table */
} sett__wait;
struct sett__warp {
    unsigned char *frame[2];       /* its own; the uniform one, which is the block's */
    struct sett__pending *pending; /* copies in the background; NULL: there were none yet */
    uint32_t index, live, active, pc, depth;
    sett__state state;
    sett__wait wait;
    uint64_t in_order; /* by program->order */
    uint64_t rounds;   /* of while loops, in this block */
    bool follows;      /* it has read poison: shadow.h */
    sett__apart apart;             /* of async programs */
    uint32_t saved[SETT__MAX_DEPTH], other[SETT__MAX_DEPTH]; /* of each open region: lanes that entered it; of an IF, those of its ELSE */
};
typedef struct sett__shadow sett__shadow;
typedef struct sett__window {
    unsigned char *p;
    int64_t lo, hi; /* bytes around p that may be touched */
    bool ahead, stream; /* too large for near caches: fetch ahead; for any: stores go past them */
} sett__window;

/* ---- a block ---------------------------------------------------------------------------------- */
enum { SETT__BARRIERS = 16 };
/* All that a block of threads is: where each warp goes on, registers, shared memory, who waits. A worker that turns to it goes on
 * with it, however long ago and by whomever it was left; several may be resident at once. */
typedef struct sett__cta {
    const sett__program *program;
    struct sett__cta *next; /* of a list that it is in */
    uint64_t number;        /* in the grid */
    uint32_t at[3], n_warps;
    uint32_t awaited; /* turns, one after another, that ended in AWAITS */
    bool together; /* all its warps may go on: they were at one barrier, or begin */
    unsigned char *shared;
    sett__window *window; /* one a root */
    struct sett__cluster *cluster; /* that it is in; NULL: the program is not async */
    uint32_t rank;                 /* there */
    uint32_t registers;            /* that no thread has */
    bool left;                     /* all its warps have ended */
    struct sett__mbarrier *mbar;   /* program->n_mbar */
    struct sett__granule *granule; /* of its shared memory; NULL: nobody asks */
    uint32_t n_granule;
    sett__shadow *shadow;          /* of a program that is followed; NULL: there was no memory for it */
    uint64_t known;                /* the last access by a peer of which it knows */
    sett__touched touched;         /* the last one */
    struct { uint32_t come, want, who; } barrier[SETT__BARRIERS]; /* threads at named ones; want 0: nobody has come; who: warps, as bits */
    sett__warp warp[];
} sett__cta;
/* How a turn of a block ended. AWAITS: other blocks, as all its warps do; LONG: others may have their turn too. */
typedef enum sett__turn_end { SETT__ENDED, SETT__AWAITS, SETT__LONG, SETT__FAULT } sett__turn_end;

/* ---- a worker ------------------------------------------------------------------------------------------------ */
/* Operations that the text of a report names, beside the one that it is at. */
typedef struct sett__notes { uint32_t n, op[16]; } sett__notes;
struct sett__core { /* one worker */
    const sett__program *program; /* of the block */
    const sett__sim_launch *launch;
    pthread_mutex_t *lock;      /* of the launch: for printing, and what has no instruction */
    sett__cta *cta;             /* the block that it runs */
    struct sett__event *event;  /* of it, a part of which runs; NULL: a warp does */
    const unsigned char **lazy; /* where what was loaded last lies, by pieces */
    struct sett__strip *strip;  /* of the program; NULL: blocks run one by one */
    uint8_t in_order;     /* do the lanes of the last base follow each other? 2: not looked at */
    atomic_uint *halt;    /* sett__halt_why */
    uint32_t looks;       /* of sett__ended, until the next at the clock */
    bool halted;          /* what the fault tells of is no fault of the kernel's */
    double deadline;      /* by sett__now_ms; 0: there is none */
    double poll_at;       /* likewise: when launch->poll is asked next; 0: not by this worker */
    sett__extent around;  /* of address.c: the allocation that was found last */
    sett_error fault;
    sett__notes *notes;
};
static inline uint32_t sett__threads(const sett__sim_launch *l) /* of a block */
{
    return l->block[0] * l->block[1] * l->block[2];
}
static inline uint32_t sett__cluster_blocks(const sett__sim_launch *l) /* of one cluster */
{
    uint32_t n = 1;
    for (int d = 0; d < 3; d++)
        n *= l->cluster[d] ? l->cluster[d] : 1;
    return n;
}
static inline uint32_t sett__thread_index(const sett__sim_launch *l, uint32_t thread, uint32_t axis) /* thread: its number in the block */
{
    uint32_t x = l->block[0], y = l->block[1];
    return axis == 0 ? thread % x : axis == 1 ? thread / x % y : thread / x / y;
}
static inline void sett__cta_turn_to(sett__core *c, sett__cta *b) /* functions of warps and of `core` are about this one from now on */
{
    c->cta = b;
    c->program = b->program;
}
static inline void *sett__at(const sett__warp *w, sett__ref r)
{
    return w->frame[r & SETT__REF_UNIFORM] + (r & ~(sett__ref)SETT__REF_FLAGS);
}
static inline long long sett__int_at(const sett__warp *w, const sett__insn *i, sett__ref r, int lane) /* of the instruction's type */
{
    return (long long)sett__int_of_bits(i->dtype, sett__bits_at(sett__at(w, r), lane, i->lg));
}

#endif
