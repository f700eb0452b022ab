/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as data: operations (ops.def) and a signature; writing, reading, printing, parsing, verifying and evaluating them.
 * This room knows nothing of builds and layouts. */
#ifndef SETT_LIB_TAPE_H
#define SETT_LIB_TAPE_H
#include "lib/base/base.h"
#include <sett/inline_ptx.h>
#include <sett/warp.h>

/* ---- tape: the data ---------------------------------------------------------------- */
#define SETT__TAPE_VERSION 2
#include "xcode.h"

typedef struct sett__op { /* as ops.def has it: see ops.h */
    uint8_t code, dtype; /* dtype of the result's elements (of a root: its declared ones); 0: no result */
    uint8_t sub;
    uint8_t n_attrs;     /* words of attributes, behind the operands; the others are as usual */
    uint32_t n;          /* elements of the result; 0: none, or an unsized root */
    uint32_t args;       /* first operand in tape->arg: an op index, or SETT__NONE */
    uint16_t n_args;
    uint16_t depth;      /* of open regions; filled by the reader, not serialised. While recording: where it lives */
    uint32_t site;       /* in tape->site; SETT__NONE: unknown */
    uint32_t other;      /* IF: its ELSE or END; ELSE, FOR, LOOP: its END; WHILE: its LOOP; END: its opener (of an arm, the ELSE). Filled by the reader.
                          * While recording: the serial of the region that the op lives in */
    int64_t imm;
} sett__op;
#include "flight.h"

typedef struct sett__symbol {
    const char *name;
    int64_t div;  /* >= 1; checked at launch */
    uint8_t wide; /* 64 bits in the kernel, else 32 and checked to fit */
    sett__expr value; /* if present, the launch computes the symbol from symbols that arguments give; expressions do not name
                       * it */
} sett__symbol;
typedef struct sett__leaf { /* one leaf of a parameter's layout, colexicographic order */
    uint8_t mode;           /* top-level mode that it belongs to */
    sett__expr extent, stride;
} sett__leaf;
typedef struct sett__param {
    const char *name;
    uint8_t scalar; /* SETT__BY_*: passed by value, no leaves */
    uint8_t dtype;
#define PARAM_OPTION(name, bit, first, second) uint8_t name;
#include "sig.def"
    uint32_t align; /* bytes, power of two; checked at launch */
    uint8_t rank;   /* top-level modes */
    uint32_t leaf, n_leaf; /* in sig->leaf */
    uint32_t bytes; /* of a struct; dtype is U8 then */
} sett__param;
enum { SETT__BY_NUMBER = 1, SETT__BY_STRUCT };
enum { SETT__ACCESS_READ = 1, SETT__ACCESS_WRITE = 2 };
/* A condition that the body needs and could not prove. expr must be 0: else the launch is SETT_E_DIVIDE. */
typedef struct sett__check {
    sett__expr expr;
    const char *text, *file; /* text: "sett_composition: ..."; file NULL: unknown */
    uint32_t line;           /* file and line are no part of the key */
} sett__check;
/* The message of one ASSERT of the tape, for engines that have only the signature. sett__tape_claims makes it from the op; it
 * is not part of the tape's bytes. */
#define SETT__OUTSIDE "outside of the tensor: its extent does not include coordinate " /* how the text of an ASSERT begins that a checked build records */
typedef struct sett__claim {
    const char *text;  /* a printf format, one conversion an operand */
    const char *file;  /* NULL: unknown */
    const char *types; /* sett_dtype of each operand */
    uint32_t line, op; /* op: its index in the tape */
} sett__claim;
/* Where a member of a struct lies, for who goes over those of a table. The last of a list has no name. */
typedef struct sett__member {
    const char *name;
    uint8_t at, size, n; /* offset; bytes of one, 0: a sett__expr; how many */
} sett__member;
extern const sett__member sett__param_options[]; /* verify_sig.c: those of sig.def */
#include "map.h"
/* What a launch must know. It travels in META, so that no launch needs the tape. The kernel's parameter block holds each param
 * (tensor: 64-bit address; scalar: its type, BOOL as a byte; struct: its bytes), then each symbol (4 bytes, or 8 if wide), at
 * their natural alignment, then each tensor map. Unused ones are there too. */
typedef struct sett__sig {
    uint32_t n_sym, n_param, n_leaf, n_code, n_check, n_map;
    sett__symbol *sym;
    sett__param *param;
    sett__leaf *leaf;
    sett__xop *code;
    sett__check *check;
    sett__map *map;
    sett__expr grid[3], block[3], cluster[3];
    uint32_t smem;       /* bytes of the block's shared window: static in the code up to SETT__STATIC_SMEM, else given at
                          * launch */
    uint32_t smem_align; /* of the window */
    sett__expr smem_more; /* if present, bytes that a launch adds behind smem; the whole window is then given at launch */
    uint32_t n_derived;  /* symbols with a value: the last ones of n_sym */
    uint8_t cooperative;  /* all blocks run at once, or the launch fails */
    uint8_t big_cluster;  /* clusters of more than 8 blocks, which not every GPU of a target takes */
    uint16_t max_registers, min_blocks; /* of a thread; of a multiprocessor: what the assembler keeps to; 0: its own choice */
    bool early;          /* it has a DEPWAIT: from sm_90 on it may begin before earlier grids end */
    uint32_t n_claim;    /* if not 0, a GPU's packed block ends with the address of a sett__failure */
    sett__claim *claim;
} sett__sig;
enum { SETT__CLUSTER_MOST = 8, SETT__BIG_CLUSTER_MOST = 16 };
static inline int64_t sett__cluster_most(const sett__sig *s)
{
    return s->big_cluster ? SETT__BIG_CLUSTER_MOST : SETT__CLUSTER_MOST;
}
/* Is the block's window static in the code? Else it is given at launch. */
static inline bool sett__smem_static(const sett__sig *s)
{
    return s->smem <= SETT__STATIC_SMEM && !s->smem_more.count;
}
/* What a thread of a GPU writes when an assertion fails, to memory that the host reads. The first such thread claims it (FREE
 * to TAKEN), writes the rest, then sets TOLD. The host sets FREE again. */
enum { SETT__FAILURE_FREE, SETT__FAILURE_TAKEN, SETT__FAILURE_TOLD };
typedef struct sett__failure {
    uint32_t state, claim; /* claim: its index in the signature */
    uint32_t block[3], thread[3];
    uint64_t operand[32]; /* the bits, low aligned; SETT__MAX_PRINT */
} sett__failure;

/* Behind the function of a site in a sett_race_ok: "f race_ok:12: why", where 12 is that call's line. */
#define SETT__RACE_OK " race_ok:"
typedef struct sett__site_ref { uint32_t file, func; uint32_t line; } sett__site_ref; /* file, func: in tape->string */
typedef struct sett__tape {
    sett__arena arena; /* owns all below */
    sett__sig sig;
    uint32_t n_op, n_arg, n_index, n_string, n_site;
    sett__op *op;
    uint32_t *arg;        /* of each op: its operands, then its attributes, int32_t */
    uint32_t *index;      /* PICK */
    const char **string;  /* PRINTF formats in order of first use; also file names of sites */
    uint32_t n_path;      /* the last n_path strings belong to sites alone */
    sett__site_ref *site; /* not part of the key */
    uint32_t *line;       /* of a text, which op is from which; else NULL. In no bytes */
    uint16_t min_sm, min_ptx; /* greatest of all ops; set by the reader and by finish */
    bool name_decides;        /* an op is of the targets that their names tell, as sm_90a, not of all from min_sm on: SETT__T, sett__op_targets */
    uint16_t min_ptx_90;      /* the same for sm_90 and later, of instructions that other targets do without */
} sett__tape;

/* Are its operands and attributes there? */
static inline bool sett__words_there(const sett__tape *t, const sett__op *op)
{
    uint32_t n = (uint32_t)op->n_args + op->n_attrs;
    return n <= t->n_arg && op->args <= t->n_arg - n;
}

/* live.c. Registers that the hardware gives a thread of a block of so many threads, at its entry: at most 255. */
uint32_t sett__sig_registers(const sett__sig *, uint32_t threads);
/* Registers that a thread needs at least, after op *at; 0: no more than enough. */
uint32_t sett__tape_live(const sett__tape *, uint32_t enough, uint32_t *at);

/* ---- write.c, read.c: bytes ----------------------------------------------------------- */
/* Canonical: equal tapes give equal bytes (little endian, LEB128, versioned). sites false: the kernel's identity, which the key
 * hashes. sites true: a section of call sites follows. The allocator gives *bytes (NULL: malloc). */
sett_status sett__tape_write(const sett__tape *, bool sites, const sett__allocator *, void **bytes, size_t *len, sett_error *);
/* Checks all bounds, and calls sett__tape_verify. The tape owns copies of everything. */
sett_status sett__tape_read(sett__tape *, const void *bytes, size_t len, sett_error *);
/* The same, in memory of an allocator that outlives the tape. Both overwrite the tape, and leave it empty on failure. */
sett_status sett__tape_read_in(sett__tape *, const sett__allocator *, const void *bytes, size_t len, sett_error *);
void sett__tape_free(sett__tape *);
/* The signature alone, in the same encoding, for META. */
sett_status sett__sig_write(const sett__sig *, const sett__allocator *, void **bytes, size_t *len, sett_error *);
/* The identity of a verified signature, in sett__tape_write's encoding: at most `room` bytes; 0: it is longer. */
size_t sett__sig_bytes(const sett__sig *, bool sites, void *to, size_t room);
sett_status sett__sig_read(sett__sig *, sett__arena *, const void *bytes, size_t len, sett_error *);

/* ---- link.c ------------------------------------------------------------------------- */
/* Fills op.depth, op.other, min_sm, min_ptx; used by read and by finish. False: regions do not nest, or an op lacks its words.
 * IF, ELSE, FOR, LOOP and END have the depth of what is around them. */
bool sett__tape_link(sett__tape *);
/* Fills sig.claim of a verified tape. False: out of memory. */
bool sett__tape_claims(sett__tape *);
int sett__least_sm(const sett__tape *, const sett__op *); /* 0: any */
const char *sett__op_targets(const sett__tape *, const sett__op *); /* "sm_90a,...", the only ones; NULL: from the least on */
bool sett__opens(int code); /* does it open a region? */
bool sett__closes(int code);

/* ---- print.c, parse.c: print and parse --------------------------------------------------------- */
/* print, then parse, then write gives the same bytes. sites: each op's as `@ file:line func` at its line's end. The text ends
 * in a NUL; the allocator gives it. */
sett_status sett__tape_print(const sett__tape *, bool sites, const sett__allocator *, char **text, sett_error *);
sett_status sett__tape_parse(sett__tape *, const char *text, sett_error *); /* errors show line, column and a caret */
sett_status sett__tape_parse_in(sett__tape *, const sett__allocator *, const char *text, sett_error *);
const sett__site_ref *sett__op_site(const sett__tape *, uint32_t op); /* NULL: it has none */
/* Where an op is from: "file:line" of its site, else "line 7" of the text, else "op 7". Returns buf. */
const char *sett__op_where(const sett__tape *, uint32_t op, char *buf, size_t size);
const char *sett__op_where_tape(const sett__tape *, uint32_t op); /* " of the tape" behind it, for who has not just read one; "" of a site */
/* One op in that form, even if it is invalid. snprintf-like. */
int sett__op_str(const sett__tape *, uint32_t op, char *buf, size_t size);

/* ---- verify.c, verify_sig.c ---------------------------------------------------------------------------------- */
/* Checks types, operand counts, dominance by regions, spaces, alignment, bounds of static accesses to smem and rmem, limits.
 * target "sm_90a": its sm and shared memory too; NULL: any. Errors name the op's site, or its line of the text. */
sett_status sett__tape_verify(const sett__tape *, const char *target, sett_error *);
/* Checks the rest for one target, of a tape that was verified for any. */
sett_status sett__tape_fits(const sett__tape *, const char *target, sett_error *);
/* Checks a signature alone: names, layouts, expressions, constant grid, block, cluster. */
sett_status sett__sig_verify(const sett__sig *, sett_error *);

/* The offset in the packed block of parameter i, of symbol i - n_param, or of map i - n_param - n_sym; of greater i the block's
 * end. */
uint64_t sett__packed_at(const sett__sig *, uint32_t i);
uint32_t sett__packed_places(const sett__sig *, uint16_t *at); /* of all; how many */

/* ---- target.c ------------------------------------------------------------------------------------------- */
/* "sm_90a" to 90 and 'a' (0 for none). False: not a target. */
bool sett__target_parse(const char *target, int *sm, char *suffix);
/* A cubin runs on its own major version from its minor on; one with the suffix a on exactly its own. */
bool sett__target_runs(const char *made_for, const char *device);
const char *sett__target_list(char *buf, size_t size); /* all that code can be generated for: "sm_70, ..., sm_90[a], ..." */
/* target_text.c. Why len bytes of text are no target, with a list of the targets, or of a list of targets which comma is
 * missing. compiled: the CPU counts as a target; it does for a compile, not in the cache. */
enum { SETT__TARGET_FAULT = 400 };
const char *sett__target_fault(const char *text, size_t len, bool compiled, char *buf, size_t size);
uint32_t sett__target_smem(int sm); /* bytes of shared memory that one block may use */
uint32_t sett__target_smem_most(void); /* the most of any target */
sett_status sett__target_cpu_gives(const sett__tape *, sett_error *); /* SETT_E_LIMIT: it needs more than any GPU has */
sett_status sett__target_read(const char *target, int *sm, sett_error *); /* "sm_90a" to 90; SETT_E_TARGET: none */
/* Has the target clusters and shared memory as the tape needs them? Asked last: a missing operation comes first. The signature was verified. */
sett_status sett__target_gives(const sett__tape *, const char *target, int sm, sett_error *);
/* The lowest PTX ISA that has the target and min_ptx: 78 for 7.8. It is part of the key. 0: no code can be generated for the
 * target. */
int sett__target_isa(const char *target, int min_ptx);
int sett__tape_isa(const sett__tape *, const char *target);
#include "inline_text.h"
/* ---- expr.c --------------------------------------------------------------------------------------------- */
/* sym: one value a symbol; scalar: one value a param (integers only). False: overflow, division by zero. */
bool sett__expr_eval(const sett__sig *, sett__expr, const int64_t *sym, const int64_t *scalar, int64_t *out);
/* Text in CuTe's way with names: "(N+255)/256". snprintf-like. */
int sett__expr_str(const sett__sig *, sett__expr, char *buf, size_t size);
int sett__expr_words(const sett__sig *, sett__expr, char *buf, size_t size); /* for people: with ceil_div and round_up */
void sett__put_expr(sett__sink *, const sett__sig *, sett__expr);
/* "(M,(4,K))": a parameter's extents or strides, the leaves of one mode in brackets of their own. words: as sett__expr_words. */
void sett__put_modes(sett__sink *, const sett__sig *, const sett__param *, bool strides, bool words);
/* Operands and text of a code: infix with C's precedence, or (level 0) a call. */
typedef struct sett__xinfo { uint8_t operands, level; const char *text; } sett__xinfo;
extern const sett__xinfo sett__xops[SETT__N_XCODES];
/* Is it postfix code that leaves one number, and names only symbols and integer scalars that exist? */
bool sett__expr_valid(const sett__sig *, sett__expr);
bool sett__expr_same(const sett__sig *, sett__expr, sett__expr); /* do both have the same code? */
bool sett__expr_const(const sett__sig *, sett__expr, int64_t *out); /* is it a constant that has a value? */

/* ---- printed.c: formats with operands ------------------------------------------------------------ */
/* The error of an assertion that failed, SETT_E_FAULT. operand: the bits of each. */
sett_status sett__claim_error(sett_error *, const sett__claim *, const uint64_t *operand, const uint32_t block[3],
    const uint32_t thread[3], const char *kernel);
const char *sett__kernel_words(const char **name); /* what stands before the name; both are "" for a kernel without one */
sett_status sett__print_check(const sett__tape *, const sett__op *, sett_error *);
/* Text and operands, whose types are given (a sett_dtype each); conversions without an operand are left out. */
void sett__put_format(sett__sink *, const char *format, const char *types, const uint64_t *operand);

#endif
