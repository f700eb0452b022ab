/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: a program of warp-wide instructions, as program/ makes it of a tape. */
#ifndef SETT_JIT_SIM_CODE_H
#define SETT_JIT_SIM_CODE_H
#include "jit/sim/rows/rows.h"
#include <ffi.h>

/* ---- what fast/rewrite.c changed in a tape before it is decoded ----------------------------------------------- */
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

/* ---- instructions --------------------------------------------------------------------------------------------- */
/* Where an operand's rows are: a byte offset in a frame, a multiple of SETT__ROW_ALIGN, and below
 * it the flags. */
typedef uint32_t sett__ref;
enum { SETT__REF_UNIFORM = 1, SETT__REF_SPLAT = 2, SETT__REF_FLAGS = 31 }; /* worker's frame; one row for all */

typedef enum sett__step {
    SETT__S_STOP, /* end of a section */
    SETT__S_ROW, SETT__S_PIECES, SETT__S_LONG, SETT__S_REDUCE, /* sett__arithmetic, by how many rows, and where they lie */
    SETT__S_POLL, /* is the launch to end? */
    SETT__S_COPY, SETT__S_PICK, SETT__S_REGROUP, SETT__S_CONST, SETT__S_VALUE, SETT__S_INDEX,
    SETT__S_LOAD, SETT__S_STORE, SETT__S_ATOM, SETT__S_CP_ASYNC, SETT__S_CP_COMMIT, SETT__S_CP_WAIT,
    SETT__S_BARRIER, SETT__S_NAMED, SETT__S_FENCE, SETT__S_GRID,
    SETT__S_SYNC_WARP, /* in a region, or for who listens: elsewhere no lane is missing */
    SETT__S_SHFL, SETT__S_VOTE, SETT__S_MATCH, SETT__S_REDUX, SETT__S_ELECT, SETT__S_SPECIAL,
    SETT__S_IF, SETT__S_ELSE, SETT__S_ENDIF, SETT__S_FOR, SETT__S_ENDFOR, SETT__S_LOOP, SETT__S_WHILE, SETT__S_ENDLOOP,
    SETT__S_INLINE, SETT__S_PRINTF, SETT__S_ASSERT,
    SETT__S_FORM, /* of class FORM, by its code */
    SETT__N_STEPS
} sett__step;
enum { SETT__MAX_ORDER = 64 }; /* of the tests of sett__order */
enum { SETT__LONG_ROWS = 4096 }; /* from one SETT__S_POLL to the next, and at most in one of ROW and PIECES */

/* ---- operands of steps ---------------------------------------------------------------------------- */
/* ROW: fn(d, arg...) on n rows. PIECES: the same on n rows in pieces, of which some are read where they were loaded from. LONG: the
 * same of more rows than anybody may have to wait for. REDUCE: fold of n rows of arg[0] by fn, starting from arg[1]. */
typedef struct sett__arithmetic {
    sett__row_fn fn;
    sett__ref arg[3];
    uint32_t lazy[3];        /* of each operand: in core->lazy; SETT__NONE: in a frame */
    uint32_t pieces, piece;  /* how many, and rows of one */
    uint8_t n_args, splat;   /* splat: as row functions take it */
    uint8_t lg[3];           /* of each operand */
    bool data;               /* of what may change otherwise than by a step from block to block */
} sett__arithmetic;

/* Where each lane touches memory: n elements from `base + offset` of a root. */
typedef struct sett__place {
    int64_t offset;  /* in elements */
    uint32_t root;   /* in program->root */
    sett__ref base;  /* SETT__NONE: 0 */
    uint8_t order;   /* the base is in order where warp->in_order says so; SETT__MAX_ORDER: not known */
    uint8_t align;   /* log2 of the proven alignment */
    bool uniform, base64, base_unsigned; /* of the base */
    bool same;       /* base and n are those of the access before, which always ran just before */
} sett__place;

/* LOAD: value: what lanes get whose predicate is false. STORE: value: what is written. */
typedef struct sett__transfer {
    sett__place at;
    sett__ref predicate, value;
    uint32_t lazy, pieces;  /* in core->lazy, and how many pieces of it; pieces 0: the value is in a frame */
    uint32_t bytes, piece;  /* of a whole warp, and of one of its pieces */
    sett__parts parts;      /* of accesses that were joined */
    uint32_t width;         /* elements of a lane that lie side by side in the value; 1: its rows are whole */
    bool straight;          /* no predicate, not a thread's own, and of an order that is known */
} sett__transfer;

/* ATOM: memory becomes `value`, or what fn makes of it and `value`; of CAS, only where it was `was`. */
typedef struct sett__atomic {
    sett__place at;
    sett__row_fn fn; /* of codes other than XCHG and CAS */
    sett__ref predicate, value, was;
    uint8_t code;
    bool copied; /* by a reduction of a copy, not of a thread */
    bool flushes; /* subnormal operands and results become zeros of their sign */
} sett__atomic;

/* CP_ASYNC. */
typedef struct sett__copy {
    sett__place to, from;
    sett__ref predicate, keep; /* keep: false where zeros are copied instead */
} sett__copy;

/* IF, WHILE; ELSE, which has no condition. target: where the warp goes on when no lane is left. */
typedef struct sett__branch {
    sett__ref condition;
    uint32_t target;
    bool uniform;
} sett__branch;

/* FOR and its ENDFOR, whose variable is d. Lanes stay while less(variable, hi). target: of FOR: behind the ENDFOR; of ENDFOR: behind
 * the FOR. */
typedef struct sett__counted {
    sett__row_fn less, add;
    sett__ref lo, hi, step;
    uint32_t target;
    bool uniform;
} sett__counted;

typedef struct sett__core sett__core;
typedef struct sett__warp sett__warp;
typedef struct sett__insn sett__insn;
/* Carries an instruction out. False: the warp has faulted, or the launch is to end. */
typedef bool (*sett__run_fn)(sett__core *, sett__warp *, const sett__insn *);

/* The member of the union that counts is that of its step. */
struct sett__insn {
    sett__run_fn run; /* by step, or code: program/table.c */
    uint8_t step, lg, dtype; /* lg: log2 of an element's bytes */
    uint32_t n, op;          /* rows; index of the given tape's op */
    sett__ref d;             /* the result's place */
    union {
        sett__arithmetic math;
        sett__ref copy; /* COPY: n rows of it */
        struct { sett__ref a; uint32_t wide; const uint32_t *index; } pick; /* n rows of a; wide: elements that a lane has side by side */
        struct { sett__ref a; uint8_t lg; } regroup; /* bits of rows of 1 << lg bytes as n rows of another size */
        int64_t bits;   /* CONST: in every lane */
        uint64_t param; /* VALUE: in every lane; byte of the launch's parameters */
        struct { uint8_t code, axis; } index; /* INDEX: of the thread or block, or how many there are */
        sett__transfer access;
        sett__atomic atom;
        sett__copy cp_async;
        int64_t pending; /* CP_WAIT: groups that may stay; -1: not even what is in no group */
        struct { sett__ref id, threads; uint8_t code; } named; /* code: BARSYNC, BARARRIVE */
        struct { sett__ref value, lane; uint8_t how, width; } shfl; /* how: SETT__SHFL_* */
        struct { sett__ref value; uint8_t how; } vote; /* SETT__VOTE_* */
        struct { sett__ref value; uint8_t lg; bool any; } match;
        struct { sett__ref value; sett__row_fn fn; } redux;
        uint8_t special; /* SETT__SREG_* */
        sett__branch branch;
        sett__counted count;
        uint32_t test; /* LOOP: its WHILE, while it is decoded */
        struct { uint32_t target; bool awaits; } round; /* ENDLOOP: behind the LOOP; does the round nothing but wait for memory? */
        struct { uint32_t operands, places, matmul; } form; /* FORM: the first of its operands in program->place, and of its places in program->spot; MMA, WGMMA: in program->matmul */
        struct { uint32_t place, call; } talk; /* INLINE, PRINTF, ASSERT: operands of the tape's op in program->place; INLINE: program->call */
    };
};

/* Past LOCAL: what each lane has somewhere else. ADDRESS: global memory at an address; PEERS: shared memory of a block of the cluster. */
typedef enum sett__space { SETT__GLOBAL, SETT__SHARED, SETT__LOCAL, SETT__ADDRESS, SETT__PEERS, SETT__MAPS } sett__space;
typedef struct sett__root {
    uint8_t space, lg;
    uint32_t op;     /* that makes it, in the given tape */
    uint32_t param;  /* GLOBAL: index in sig.param */
    sett__ref from;  /* ADDRESS: the addresses; PEERS: the ranks */
    uint32_t align;  /* ADDRESS: what it promises, in bytes */
    uint32_t offset; /* SHARED, PEERS: in the window; MAPS: in the parameters; LOCAL: in the warp's frame; GLOBAL: of the address in the parameters, or of the struct itself */
    uint64_t bytes;  /* SHARED, LOCAL: of one thread's array; GLOBAL: of a struct passed by value, else 0 */
    uint32_t width;  /* LOCAL in memory's order: elements of a lane that lie side by side; else 1 */
} sett__root;
/* Which elements of a matrix a warp's lanes hold: element e of lane l is at lane[l] + element[e] of the matrix as it is stored here,
 * row after row, k fastest in A and B; of C and D a row has eight columns. */
typedef struct sett__fragment {
    uint32_t n; /* elements of a lane; of the C of wgmma: of each eight columns */
    uint16_t lane[32], element[16];
} sett__fragment;
/* A row of mma.def as the warps of a program need it. */
typedef struct sett__matmul {
    const sett__mma *row;
    uint32_t op; /* the first that has it, in the given tape */
    sett__fragment a, b, c;
} sett__matmul;

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
typedef struct sett__call {
    const char *name;   /* of the stand-in, not ended; */
    uint32_t name_len;  /* 0: none */
    uint32_t op;        /* in the given tape */
    uint8_t n_result, n_arg, result[SETT__INLINE_RESULTS], arg[SETT__INLINE_OPERANDS];
    char *types;        /* "u32(u32,u32)" */
    ffi_cif cif;
    ffi_type *type[SETT__INLINE_RESULTS + SETT__INLINE_OPERANDS];
} sett__call;
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
    bool plain;   /* without anything of fast/ */
    bool atomics; /* others may look while a launch runs */
    bool awaits;  /* a while loop reads memory that other blocks may write: it may wait for them */
    bool checked; /* its launches are: each has a .check; async, whatever operations it has */
    bool async;   /* it has operations of clusters, mbarriers or copies by themselves: cluster.c runs it */
    const struct sett__watch *watch; /* effect.h: is told effects on memory; NULL: nobody is */
    const struct sett__follow *follow; /* shadow.h: follows what nobody has written; NULL: nobody does */
    bool listens; /* a block may learn from memory what others do */
    bool polls;   /* a while loop asks an mbarrier, and reads what other clusters may write */
    bool counts;  /* a while loop asks an mbarrier, and keeps something: it may end by itself, after so many rounds */
    uint32_t mbar_at, n_mbar; /* bytes of the window among which mbarriers lie: the first, and how many mbarriers they are */
    uint32_t n_access; /* of a warp, where blocks may run as strips; else 0 */
    sett__ref *place; /* of operands of FORM, INLINE, PRINTF and ASSERT; of a root its index, of what is absent SETT__NONE */
    sett__place *spot; /* of FORM */
    sett__matmul *matmul; /* of MMA and WGMMA */
    uint32_t n_place, n_spot, n_matmul;
    uint32_t by_order, by_data; /* of a checked program: the operations that values of branches, addresses and stores depend on by order; of branches and addresses by data; SETT__NONE: none */
    uint32_t params_len;
    size_t warp_bytes, uniform_bytes; /* of the frames */
    uint32_t local_at, local_bytes;   /* rmem in the warp's frame: poisoned when a block starts */
};

#endif
