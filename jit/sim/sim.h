/* SPDX-License-Identifier: Apache-2.0 */
/* The map of sim/: a tape becomes a program of warp-wide instructions (decode.c, slots.c, flat.c), which
 * workers run block by block (run.c), a warp at a time until it blocks (exec.c, memory.c). All state
 * of a warp is data: a program counter, a mask, a stack of masks and a frame of rows, so a warp that
 * waits simply returns. Neighbouring blocks of elementwise kernels run as one (strip.c). talk.c writes reports and what kernels print.
 *
 * A row is one element of a value for all 32 lanes. Rows lie in two kinds of frame: the warp's own,
 * and the worker's uniform one, where constants, parameters and what depends on them and the block's
 * index alone are computed once a launch or once a block. Rows that depend on the thread's index but not
 * on the block's are computed once a launch too, and keep their place in the warp's frame.
 *
 * A tape is simplified first (rewrite.c). A kernel that tests bounds has a second program for the blocks in which every
 * test is known to be true before they run (range.c): the same tape without those tests and what they guard against.
 *
 * A launch can be ended from outside or by its limit of time (halt.c). Whoever runs for long asks: each round of a loop, each
 * block and strip, and between those each few thousand rows (SETT__S_POLL, SETT__S_LONG). */
#ifndef SETT_SIM_H
#define SETT_SIM_H
#include "../jit.h"
#include <ffi.h>

#define WARP 32
#define SETT__ROW_ALIGN 32u
#define SETT__N_DTYPES (SETT_F8E4M3B11FNUZ + 1)
#define SETT__ROW_CODES (SETT__TANHA + 1) /* what has functions on rows comes first in ops.def */
#define SETT__ROW_TYPES (SETT_F8E5M2 + 1) /* and their types: past them are those that are only moved, and of 128 bits */

/* ---- wide.h: arithmetic on rows ------------------------------------------------------ */
typedef void (*sett__row_fn)(void *restrict d, const void *a, const void *b, const void *c, uint32_t rows,
                             uint32_t splat);
typedef void (*sett__turn_fn)(void *restrict d, const void *s, uint32_t n);
typedef struct sett__wide {
    sett__row_fn op[SETT__ROW_CODES][SETT__ROW_TYPES];
    sett__row_fn convert[SETT__ROW_TYPES][SETT__ROW_TYPES];
    sett__row_fn select[4];                        /* by log2 of the element's bytes */
    bool (*affine[2])(const void *row, int64_t step); /* 32-bit, 64-bit: row[l] == row[0] + l * step, all l */
    /* [log2 bytes][0: any n; 1, 2, 3: n = 2, 4, 8]: lanes of n elements to rows, and back */
    sett__turn_fn gather[4][4], scatter[4][4];
    /* Whole cache lines past the caches, to memory that is too large for them; drain: before others may look. */
    void (*stream)(void *restrict d, const void *s, size_t bytes);
    void (*drain)(void);
} sett__wide;
extern const sett__wide sett__wide_base, sett__wide_avx2;
const sett__wide *sett__wide_best(void); /* for the machine that runs this */
/* ---- wide_128.c: the same for i128 and u128, on every machine --------------------------- */
sett__row_fn sett__row_bits(sett__code, uint8_t lg); /* POPC, CLZ, BREV of integers of 1 << lg bytes */
sett__row_fn sett__row_128(sett__code, sett_dtype operands, sett_dtype to); /* NULL: there is none */

/* ---- rewrite.c: what is changed in a tape before it is decoded -------------------------------------- */
typedef struct sett__part { uint32_t op, n; uint8_t align; } sett__part; /* an access that was joined with others */
typedef struct sett__parts { uint32_t first, n; } sett__parts;           /* n 0: an access as it was */
/* Strings, sites and the signature are those of the first tape, which must outlive it. */
typedef struct sett__rewritten {
    bool changed;       /* else there is nothing else in it */
    sett__tape tape;    /* its arena holds all that is new */
    uint32_t *origin;   /* by op: in the first tape */
    uint32_t *test;     /* ops of the first tape that must be true in all threads of a block */
    sett__part *part;   /* by op of the first tape */
    sett__parts *parts; /* by op: which of them */
    uint32_t n_test, n_part;
} sett__rewritten;
/* tests_hold: for blocks in which every test of bounds is true; changes nothing where there is none. False: out of memory. */
bool sett__rewrite(const sett__tape *, bool tests_hold, sett__rewritten *);

/* ---- decode.c: the program ----------------------------------------------------------------- */
/* Where an operand's rows are: a byte offset in a frame, a multiple of SETT__ROW_ALIGN, and below
 * it the flags. */
typedef uint32_t sett__ref;
enum { SETT__REF_UNIFORM = 1, SETT__REF_SPLAT = 2, SETT__REF_FLAGS = 31 }; /* worker's frame; one row for all */

typedef enum sett__step {
    SETT__S_STOP,    /* end of a section */
    SETT__S_ROW,     /* fn(d, a, b, c) on n rows */
    SETT__S_PIECES,  /* the same on n rows of each of `pieces` pieces, of which some are read where they were loaded from */
    SETT__S_LONG,    /* the same of more rows than anybody may have to wait for */
    SETT__S_POLL,    /* is the launch to end? */
    SETT__S_COPY,    /* n rows of a */
    SETT__S_PICK,    /* rows of a by tape->index[imm...] */
    SETT__S_REGROUP, /* bits of rows of 1 << sub bytes as n rows of another size */
    SETT__S_REDUCE,  /* fold of n rows of a by fn, starting from b */
    SETT__S_CONST,   /* imm in every lane */
    SETT__S_VALUE,   /* bytes at imm of the launch's parameters in every lane */
    SETT__S_SREG,    /* imm: the code, sub: the dimension */
    SETT__S_LOAD, SETT__S_STORE, SETT__S_ATOM, /* base a, predicate b, fill c, value e; parts: of accesses that were joined */
    SETT__S_BARRIER,
    SETT__S_SYNC_WARP, /* in a region alone: elsewhere no lane is missing */
    SETT__S_FENCE,
    SETT__S_NAMED,   /* id a, threads b; sub: the code */
    SETT__S_SHFL,    /* value a, lane b */
    SETT__S_WARP,    /* value a; align: the code */
    SETT__S_CP_ASYNC, /* to root, base a; from root `target`, base d of flags `splat`; predicates b, c; imm: both offsets */
    SETT__S_CP_COMMIT, SETT__S_CP_WAIT, /* imm: groups that may stay */
    SETT__S_IF, SETT__S_ELSE, SETT__S_ENDIF,
    SETT__S_LOOP, SETT__S_WHILE, SETT__S_ENDLOOP, /* a: the condition (WHILE) */
    SETT__S_FOR, SETT__S_ENDFOR, /* d: the variable; a: lo (FOR); b: hi; c: step; fn: less; fn2: add */
    SETT__S_INLINE,  /* the stand-in of program->call[target], operands as of: */
    SETT__S_PRINTF, SETT__S_ASSERT, /* operands from the tape, places in program->place from imm */
} sett__step;
enum { SETT__I_UNIFORM = 1, SETT__I_BASE64 = 2, SETT__I_BASE_UNSIGNED = 4, SETT__I_FLAT = 8, SETT__I_SAME = 16, SETT__I_STRAIGHT = 32, SETT__I_DATA = 64 };
enum { SETT__MAX_ORDER = 64 }; /* of the tests of sett__order */
enum { SETT__LONG_ROWS = 4096 }; /* from one SETT__S_POLL to the next, and at most in one of ROW and PIECES */
/* flags: condition, bounds or base are uniform; a flat value; base and width are those of the access before,
 * which always ran just before; straight: no predicate, not a thread's own, and of an order that is known;
 * data: arithmetic on what may change otherwise than by a step from block to block */
typedef struct sett__insn {
    uint8_t step, lg, sub, flags; /* lg: log2 of the element's bytes */
    uint8_t align, splat, n_args, dtype; /* align: log2 of the proven alignment; splat: as row functions take it */
    uint32_t n, op;               /* rows; index of the given tape's op */
    uint32_t root, target;        /* in program->root; where to go on */
    sett__ref d, a, b, c, e;
    uint32_t lazy[3];             /* in core->lazy: LOAD, STORE: the value; PIECES: operands; SETT__NONE: in the frame */
    uint32_t pieces;
    uint32_t bytes, piece;        /* LOAD, STORE: of a whole warp, and of one of its pieces */
    sett__parts parts;            /* LOAD, STORE */
    uint8_t lgs[3], order;        /* PIECES: lg of operands; the base is in order where warp->in_order says so */
    sett__row_fn fn, fn2;
    int64_t imm;
} sett__insn;

typedef enum sett__space { SETT__GLOBAL, SETT__SHARED, SETT__LOCAL } sett__space;
typedef struct sett__root {
    uint8_t space, lg;
    uint32_t param;  /* GLOBAL: index in sig.param */
    uint32_t offset; /* SHARED: in the window; LOCAL: in the warp's frame; GLOBAL: of the address in the parameters, or of the struct itself */
    uint64_t bytes;  /* SHARED, LOCAL: of one thread's array; GLOBAL: of a struct passed by value, else 0 */
    uint32_t width;  /* LOCAL in memory's order: elements of a lane that lie side by side; else 1 */
} sett__root;
/* Do the lanes of a value lie n apart? Asked once a launch; sums with uniform values inherit the answer. */
typedef struct sett__order {
    sett__ref at;
    uint32_t n;
    bool base64;
} sett__order;

enum { SETT__ONCE, SETT__PER_BLOCK, SETT__PER_THREAD, SETT__BODY, SETT__N_SECTIONS };
/* An op that a test depends on; operands are facts before it. */
typedef struct sett__fact {
    uint8_t code, dtype, sub;
    bool test, moves; /* test: to be proven; moves: changes from block to block */
    uint32_t arg[3];  /* SETT__NONE: none */
    int64_t imm;      /* CONST: the bits; SYM, SCALAR: where in the parameters */
} sett__fact;
/* How the stand-in of one op is called. */
struct sett__call {
    const char *name;   /* of the stand-in, not ended; */
    uint32_t name_len;  /* 0: none */
    uint32_t op;        /* in the given tape */
    uint8_t n_result, n_arg, result[SETT__INLINE_RESULTS], arg[SETT__INLINE_OPERANDS];
    char *types;        /* "u32(u32,u32)" */
    ffi_cif cif;
    ffi_type *type[SETT__INLINE_RESULTS + SETT__INLINE_OPERANDS];
};
struct sett__program {
    sett__call *call; /* of an unguarded program: the other one's */
    uint32_t n_call;
    const sett__tape *given, *tape; /* tape: as rewritten; reports and instructions speak of the given one */
    sett__rewritten rewritten;
    sett__program *unguarded; /* for blocks where all tests among the facts are true; NULL: none */
    sett__fact *fact;
    uint32_t n_fact;
    const sett__wide *wide;
    sett__insn *code;
    uint32_t section[SETT__N_SECTIONS]; /* first instruction; each ends in a STOP */
    sett__root *root;
    sett__order order[SETT__MAX_ORDER];
    uint32_t n_code, n_root, n_order, n_lazy;
    bool atomics; /* others may look while a launch runs */
    uint32_t n_access; /* of a warp, where blocks may run as strips; else 0 */
    sett__ref *place; /* of printed operands */
    uint32_t n_place;
    uint32_t params_len;
    size_t warp_bytes, uniform_bytes; /* of the frames */
    uint32_t local_at, local_bytes;   /* rmem in the warp's frame: poisoned when a block starts */
};

const char *sett__kernel_words(const char *name); /* talk.c */

/* ---- range.c: what is known of blocks before they run ------------------------------------------- */
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
/* flat.c; false: out of memory. The second needs the homes. */
bool sett__find_flat(const sett__tape *, sett__slot *);
bool sett__find_lazy(const sett__tape *, sett__slot *, uint32_t *n_lazy);
/* One slot an op. Fills every place; the frames' sizes, local_at and local_bytes go to the program. */
sett_status sett__slots(sett__program *, sett__slot *, sett_error *);

/* ---- exec.c, memory.c ------------------------------------------------------------------------------ */
typedef struct sett__mask { uint32_t saved, other; } sett__mask;
typedef enum sett__state { SETT__RUNNING, SETT__WAITING, SETT__PAUSED, SETT__DONE, SETT__FAULTED } sett__state;
typedef struct sett__warp {
    struct sett__pending *pending; /* copies in the background; NULL: there were none yet */
    uint8_t barrier;               /* named one that it waits at; 0: the block's, if it waits */
    unsigned char *frame;
    uint32_t index, live, active, pc, depth;
    sett__state state;
    uint64_t in_order; /* by program->order */
    uint64_t rounds;   /* of while loops, in this block */
    sett__mask stack[SETT__MAX_DEPTH];
} sett__warp;
typedef struct sett__window {
    unsigned char *p;
    int64_t lo, hi; /* bytes around p that may be touched */
    bool ahead, stream; /* too large for near caches: fetch ahead; for any: stores go past them */
} sett__window;
enum { SETT__BARRIERS = 16 };
typedef struct sett__core { /* one worker */
    const sett__program *program;
    const sett__sim_launch *launch;
    struct sett__run *run;
    unsigned char *uniform, *shared, *memory;
    sett__window *window; /* one a root */
    const unsigned char **lazy; /* where what was loaded last lies, by pieces */
    struct sett__strip *strip;  /* NULL: blocks run one by one */
    sett__warp *warp;
    uint32_t n_warps, threads;
    uint8_t in_order; /* do the lanes of the last base follow each other? 2: not looked at */
    uint32_t block[3];
    struct { uint32_t come, want; } barrier[SETT__BARRIERS]; /* threads at named ones; want 0: nobody has come */
    atomic_uint *halt;    /* sett__halt_why */
    uint32_t looks;       /* of sett__ended, until the next at the clock */
    bool halted;          /* what the fault tells of is no fault of the kernel's */
    double deadline;      /* by sett__now_ms; 0: there is none */
    sett_error fault;
} sett__core;
/* Runs a warp until it ends, waits, pauses or faults; the new state is in it too. */
sett__state sett__exec(sett__core *, sett__warp *);
/* Straight-line code of another section. */
void sett__exec_section(sett__core *, sett__warp *, int section);
static inline void *sett__at(const sett__core *c, const sett__warp *w, sett__ref r)
{
    return (r & SETT__REF_UNIFORM ? c->uniform : w->frame) + (r & ~(sett__ref)SETT__REF_FLAGS);
}
uint32_t sett__mask_of(const uint8_t *row); /* of 32 Booleans */
void sett__spread(void *row, const void *element, uint32_t bytes); /* into all lanes */
/* False: the warp faulted. */
bool sett__load(sett__core *, sett__warp *, const sett__insn *);
bool sett__store(sett__core *, sett__warp *, const sett__insn *);
bool sett__atom(sett__core *, sett__warp *, const sett__insn *);
bool sett__cp_async(sett__core *, sett__warp *, const sett__insn *);
void sett__exchange_128(sett__core *, void *at, const void *was_or_null, const void *value, void *old); /* run.c */

/* Where a whole warp of each of `blocks` blocks has its access, if one after another and inside; NULL: not so, or not known. */
unsigned char *sett__straight(const sett__core *, const sett__warp *, const sett__insn *, uint32_t blocks);
void sett__store_whole(const sett__core *, const sett__insn *, unsigned char *to, const unsigned char *from, size_t bytes);

/* ---- strip.c: neighbouring blocks as one ------------------------------------------------------------ */
/* May a kernel's blocks, as far as its tape goes? kind: by op, set; 2: SETT__I_DATA. */
bool sett__find_strips(const sett__tape *, const sett__slot *, uint8_t *kind);
uint32_t sett__strip_accesses(const sett__program *); /* 0: its instructions do not allow it */
void sett__strip_make(sett__core *); /* for a launch, once its warps have started; no memory, no strips */
uint32_t sett__strip_run(sett__core *, uint64_t most); /* blocks that it ran, from c->block on; 0: none, or the launch is to end */

/* ---- warp.c: votes and the like, named barriers; copies that wait for their group ------------------------ */
bool sett__ask_warp(sett__core *, sett__warp *, const sett__insn *);
bool sett__named_barrier(sett__core *, sett__warp *, const sett__insn *);
/* Room for what one lane copies to `to` later; NULL: out of memory. */
void *sett__pend(sett__warp *, int lane, void *to, uint32_t bytes);
bool sett__commit(sett__warp *);             /* of the active lanes; false: out of memory */
void sett__complete(sett__warp *, int64_t keep); /* all groups but the newest `keep`; -1: what is in no group too */
void sett__forget(sett__warp *);             /* what is pending: the block has ended */

/* ---- inline.c: stand-ins of inline PTX ------------------------------------------------------------------ */
sett_status sett__find_calls(sett__program *, sett_error *); /* fills call */
void sett__free_calls(sett__program *);
bool sett__is_call(const sett__tape *, const sett__op *); /* else it is none, or nothing is done */
uint32_t sett__call_of(const sett__program *, uint32_t op); /* of the given tape */
bool sett__stand_in(sett__core *, sett__warp *, const sett__insn *); /* false: the launch is to end */

/* ---- halt.c: ending a launch from outside, or by the clock; what the regions around an instruction tell ----------- */
bool sett__late(sett__core *); /* looks at the clock */
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

/* ---- talk.c -------------------------------------------------------------------------------------------- */
/* "file:line", or the op's number where no line is known. */
const char *sett__where(const sett__program *, uint32_t op, char *buf, size_t size);
/* The first fault of a core is kept; it is SETT_E_FAULT, or of the status given. Returns false. */
bool sett__fault(sett__core *, const sett__warp *, int lane, uint32_t op, const char *format, ...) SETT_PRINTF(5, 6);
bool sett__fault_as(sett__core *, sett_status, const sett__warp *, int lane, uint32_t op, const char *what);
/* SETT_E_VERIFY: a format has other conversions than the op has operands. */
sett_status sett__print_check(const sett__tape *, const sett__op *, sett_error *);
/* run.c: to the callback or stdout, one writer at a time */
void sett__emit_text(sett__core *, const char *, size_t len);
bool sett__print(sett__core *, sett__warp *, const sett__insn *);
bool sett__check_assert(sett__core *, sett__warp *, const sett__insn *);
void sett__deadlock(sett__core *, uint32_t first_waiting);

#endif
