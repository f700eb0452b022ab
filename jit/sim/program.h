/* SPDX-License-Identifier: Apache-2.0 */
/* A tape as a program of warp-wide instructions. */
#ifndef SETT_JIT_SIM_PROGRAM_H
#define SETT_JIT_SIM_PROGRAM_H
#include "rewrite.h"
#include "rows.h"
#include <ffi.h>

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
    SETT__S_CP_ASYNC, /* to root, base a; from root `target`, base d of flags `splat`; predicates b, c; offsets lazy[0] and imm */
    SETT__S_CP_COMMIT, SETT__S_CP_WAIT, /* imm: groups that may stay */
    SETT__S_IF, SETT__S_ELSE, SETT__S_ENDIF,
    SETT__S_LOOP, SETT__S_WHILE, SETT__S_ENDLOOP, /* a: the condition (WHILE); sub: does nothing but wait (ENDLOOP) */
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
    bool plain;   /* without anything of fast/ */
    bool atomics; /* others may look while a launch runs */
    bool awaits;  /* a while loop reads memory that other blocks may write: it may wait for them */
    uint32_t n_access; /* of a warp, where blocks may run as strips; else 0 */
    sett__ref *place; /* of printed operands */
    uint32_t n_place;
    uint32_t params_len;
    size_t warp_bytes, uniform_bytes; /* of the frames */
    uint32_t local_at, local_bytes;   /* rmem in the warp's frame: poisoned when a block starts */
};

#endif
