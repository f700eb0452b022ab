/* SPDX-License-Identifier: Apache-2.0 */
/* The map of sim/: a tape becomes a program of warp-wide instructions (decode.c, slots.c, fast/flat.c). Workers run it block by block
 * (run.c), a warp of the block at a time until it waits (cta.c, exec.c, memory.c). All state of a block is data, apart from the
 * worker: of each warp a program counter, a mask, a stack of masks and a frame of rows. So what waits simply returns, and blocks that
 * wait for each other are resident together and take turns. Neighbouring blocks of elementwise kernels run as one (fast/strip.c).
 * talk.c writes reports and what kernels print.
 *
 * A row is one element of a value for all 32 lanes. Rows lie in two kinds of frame: the warp's own, and the block's uniform one, where
 * constants, parameters and what depends on them and the block's index alone are computed once a launch or once a block. Rows that
 * depend on the thread's index but not on the block's are computed once a launch too, and keep their place in the warp's frame.
 *
 * A tape is simplified first (fast/rewrite.c). A kernel that tests bounds has a second program for the blocks in which every
 * test is known to be true before they run (fast/range.c): the same tape without those tests and what they guard against.
 *
 * A launch can be ended from outside or by its limit of time (halt.c). Whoever runs for long asks: each round of a loop, each
 * block and strip, and between those each few thousand rows (SETT__S_POLL, SETT__S_LONG). */
#ifndef SETT_SIM_H
#define SETT_SIM_H
#include "apart.h"
#include "lanes.h"
#include "program.h"
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

/* ---- fast/range.c: what is known of blocks before they run ------------------------------------------- */
typedef struct sett__range {
    int64_t lo, hi; /* lo <= x <= hi */
    uint64_t rest;
    uint8_t bits;   /* x = rest modulo 2^bits */
} sett__range;
typedef enum sett__proof { SETT__NOWHERE, SETT__OPEN, SETT__EVERYWHERE } sett__proof; /* OPEN: fewer blocks may show more */
bool sett__has_range(const sett__op *); /* if its operands have */
bool sett__find_facts(sett__program *, const uint32_t *test, uint32_t n_test); /* of the given tape; false: out of memory */
/* Are the tests true in every thread of blocks [from, to)? Room for a range per fact. */
sett__proof sett__prove(const sett__program *, const sett__sim_launch *, sett__range *, uint64_t from, uint64_t to);

/* ---- slots.c: which value lives where -------------------------------------------------------- */
typedef struct sett__slot {
    uint32_t home; /* the op whose storage this value is in: itself, what it is a view of, or what packs it */
    uint32_t off;  /* bytes into that storage */
    uint32_t at;   /* of a home: place in its frame, once given */
    uint32_t rows; /* stored: n, or 1 when every element is the same */
    uint32_t uses, first, last; /* positions in the tape; of homes */
    uint8_t lg, section;
    bool uniform, view, placed;
    bool flat; /* in memory's order: a lane's elements side by side, one access after another */
    uint32_t width; /* flat: elements of an access */
    uint32_t lazy;  /* of homes that are only loaded: in core->lazy, by pieces; else SETT__NONE */
} sett__slot;
/* fast/flat.c; false: out of memory. The second needs the homes. */
bool sett__find_flat(const sett__tape *, sett__slot *);
bool sett__find_lazy(const sett__tape *, sett__slot *, uint32_t *n_lazy);
/* One slot an op. Fills every place; the frames' sizes, local_at and local_bytes go to the program. */
sett_status sett__slots(sett__program *, sett__slot *, sett_error *);

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
    sett__apart apart;             /* of async programs */
    uint32_t saved[SETT__MAX_DEPTH], other[SETT__MAX_DEPTH]; /* of each open region: lanes that entered it; of an IF, those of its ELSE */
};
typedef struct sett__window {
    unsigned char *p;
    int64_t lo, hi; /* bytes around p that may be touched */
    bool ahead, stream; /* too large for near caches: fetch ahead; for any: stores go past them */
} sett__window;

/* ---- cta.c: a block ---------------------------------------------------------------------------------- */
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
    uint64_t known;                /* the last access by a peer of which it knows */
    sett__touched touched;         /* the last one */
    struct { uint32_t come, want; } barrier[SETT__BARRIERS]; /* threads at named ones; want 0: nobody has come */
    sett__warp warp[];
} sett__cta;
/* How a turn of a block ended. AWAITS: other blocks, as all its warps do; LONG: others may have their turn too. */
typedef enum sett__turn_end { SETT__ENDED, SETT__AWAITS, SETT__LONG, SETT__FAULT } sett__turn_end;
sett__cta *sett__cta_make(sett__core *, const sett__program *); /* one, or all of a cluster; with what a launch computes once; NULL: out of memory */
void sett__cta_free(sett__cta *);
size_t sett__cta_bytes(const sett__program *, const sett__sim_launch *); /* of one in memory; SIZE_MAX: more than there can be */
void sett__cta_place(sett__core *, uint64_t number); /* as which block of the grid */
bool sett__cta_begin(sett__core *); /* false: the launch is to end */
sett__turn_end sett__cta_go_on(sett__core *);

/* ---- exec.c, memory.c ------------------------------------------------------------------------------ */
struct sett__core { /* one worker */
    const sett__program *program; /* of the block */
    const sett__sim_launch *launch;
    pthread_mutex_t *lock;      /* of the launch: for printing, and what has no instruction */
    sett__cta *cta;             /* the block that it runs */
    const unsigned char **lazy; /* where what was loaded last lies, by pieces */
    struct sett__strip *strip;  /* of the program; NULL: blocks run one by one */
    uint8_t in_order;     /* do the lanes of the last base follow each other? 2: not looked at */
    atomic_uint *halt;    /* sett__halt_why */
    uint32_t looks;       /* of sett__ended, until the next at the clock */
    bool halted;          /* what the fault tells of is no fault of the kernel's */
    double deadline;      /* by sett__now_ms; 0: there is none */
    double poll_at;       /* likewise: when launch->poll is asked next; 0: not by this worker */
    sett__extent around;  /* of form.c: the allocation that was found last */
    sett_error fault;
};
static inline uint32_t sett__threads(const sett__sim_launch *l) /* of a block */
{
    return l->block[0] * l->block[1] * l->block[2];
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
/* Runs a warp until it ends, waits, pauses or faults; the new state is in it too. */
sett__state sett__exec(sett__core *, sett__warp *);
/* Straight-line code of another section. */
void sett__exec_section(sett__core *, sett__warp *, int section);
static inline void *sett__at(const sett__warp *w, sett__ref r)
{
    return w->frame[r & SETT__REF_UNIFORM] + (r & ~(sett__ref)SETT__REF_FLAGS);
}
static inline long long sett__int_at(const sett__warp *w, const sett__insn *i, sett__ref r, int lane) /* of the instruction's type */
{
    return (long long)sett__int_of_bits(i->dtype, sett__bits_at(sett__at(w, r), lane, i->lg));
}
/* Steps, as sett__run_fn. */
bool sett__load(sett__core *, sett__warp *, const sett__insn *);
bool sett__store(sett__core *, sett__warp *, const sett__insn *);
bool sett__atom(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_async(sett__core *, sett__warp *, const sett__insn *);

/* Where a whole warp of each of `blocks` blocks has its access, if one after another and inside; NULL: not so, or not known. */
unsigned char *sett__straight(const sett__core *, const sett__warp *, const sett__insn *, uint32_t blocks);
void sett__store_whole(const sett__core *, const sett__insn *, unsigned char *to, const unsigned char *from, size_t bytes);

/* ---- fast/strip.c: neighbouring blocks as one ------------------------------------------------------------ */
/* May a kernel's blocks, as far as its tape goes? kind: by op, set; 2: sett__arithmetic's `data`. */
bool sett__find_strips(const sett__tape *, const sett__slot *, uint8_t *kind);
uint32_t sett__strip_accesses(const sett__program *); /* 0: its instructions do not allow it */
void sett__strip_make(sett__core *); /* for a launch, by a block that has not begun; no memory, no strips */
uint32_t sett__strip_run(sett__core *, uint64_t most); /* blocks that it ran, from c->cta->at on; 0: none, or the launch is to end */

/* ---- warp.c: votes and the like, named barriers; copies that wait for their group ------------------------ */
bool sett__vote(sett__core *, sett__warp *, const sett__insn *);
bool sett__match(sett__core *, sett__warp *, const sett__insn *);
bool sett__redux(sett__core *, sett__warp *, const sett__insn *);
bool sett__elect(sett__core *, sett__warp *, const sett__insn *);
bool sett__special(sett__core *, sett__warp *, const sett__insn *);
bool sett__named_barrier(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_commit(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_wait(sett__core *, sett__warp *, const sett__insn *);
/* What one lane copies, now or later. `from` stays readable. False: out of memory. */
bool sett__pend(sett__core *, sett__warp *, int lane, void *to, const void *from, uint32_t bytes);
uint32_t sett__cp_seen(const sett__warp *);                               /* copies so far */
void sett__cp_flush(const sett__core *, sett__warp *, uint32_t lanes, uint32_t seen); /* the lanes' first so many reach memory */
void sett__forget(const sett__core *, sett__warp *); /* what is pending: a block begins */

/* ---- inline.c: stand-ins of inline PTX ------------------------------------------------------------------ */
sett_status sett__find_calls(sett__program *, sett_error *); /* fills call */
void sett__free_calls(sett__program *);
bool sett__is_call(const sett__tape *, const sett__op *); /* else it is none, or nothing is done */
uint32_t sett__call_of(const sett__program *, uint32_t op); /* of the given tape */
bool sett__stand_in(sett__core *, sett__warp *, const sett__insn *); /* a step */

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
/* Faults: a warp's lanes are not all here, which are not, and where they went. Returns false. */
bool sett__missing_lanes(sett__core *, const sett__warp *, const sett__insn *, const char *what);
static inline bool sett__whole_warp(sett__core *c, const sett__warp *w, const sett__insn *i, const char *what)
{
    return w->active == w->live || sett__missing_lanes(c, w, i, what);
}

/* ---- talk.c -------------------------------------------------------------------------------------------- */
sett_status sett__no_room(sett_error *); /* SETT_E_MEMORY, of a tape that is being decoded */
/* sett__op_where of the given tape. */
const char *sett__where(const sett__program *, uint32_t op, char *buf, size_t size);
/* The first fault of a core is kept; it is SETT_E_FAULT, or of the status given. Returns false. */
bool sett__fault(sett__core *, const sett__warp *, int lane, uint32_t op, const char *format, ...) SETT_PRINTF(5, 6);
bool sett__fault_as(sett__core *, sett_status, const sett__warp *, int lane, uint32_t op, const char *what);
/* SETT_E_VERIFY: a format has other conversions than the op has operands. */
bool sett__print(sett__core *, sett__warp *, const sett__insn *);
bool sett__check_assert(sett__core *, sett__warp *, const sett__insn *);
void sett__deadlock(sett__core *, uint32_t first_waiting);

#include "async.h"
#include "matrix.h"

#endif
