/* SPDX-License-Identifier: Apache-2.0 */
/* The lower half of the map of lib/ (lib.h is the upper): limits, memory, errors, types, and a kernel as data, with what
 * reads, writes, checks and evaluates it. Nothing here knows of builds and layouts; jit/ and ptx/ run what is here. */
#ifndef SETT_TAPE_H
#define SETT_TAPE_H
#include <sett/sett.h>
#include <stdarg.h>
#include <stdio.h>

#define SETT__NONE UINT32_MAX
#define SETT__MAX_RANK 8      /* modes of a buffer */
#define SETT__MAX_DEPTH 64    /* open regions */
#define SETT__MAX_NEST 64     /* levels of a tuple, or of composed layouts */
#define SETT__TUPLE_LEAVES 4096 /* of a tuple: what is shared below can double with each call, without memory of its own */
#define SETT__MAX_WIDTH 65536 /* elements of one value */
#define SETT__MAX_OPS (1u << 24)
#define SETT__MAX_STRING 65535 /* bytes of a name or format */
#define SETT__MAX_PARAMS 1024  /* parameters, and as many symbols */
#define SETT__MAX_LEAVES 64    /* of one parameter's layout */
#define SETT__MAX_CHECKS 1024  /* of one kernel */
#define SETT__MAX_EXPR 1024    /* codes of one host expression */
#define SETT__EXPR_DEPTH 64    /* numbers that one keeps while it is evaluated */
#define SETT__PARAM_BYTES 4096 /* of a kernel's parameter block */
#define SETT__VALUE_ALIGN 16   /* of a struct in it, at most */
#define SETT__MAX_ALIGN 128    /* bytes that an access may claim */
#define SETT__MAX_PARAM_ALIGN 65536
#define SETT__MAX_SMEM (1 << 20)
#define SETT__STATIC_SMEM (48 << 10) /* static in the code on every device; a larger window is given at launch */
#define SETT__MAX_SMEM_ALIGN 1024
#define SETT__MAX_PRINT 32     /* operands of one printf */
#define SETT__COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- arena.c: memory that dies at once ------------------------------------ */
/* The allocator hook is what the out-of-memory tests replace. On failure alloc
 * returns NULL; callers inside a build go through sett__new(), which then fails the
 * build with SETT_E_MEMORY and returns memory of the build's reserve, so that no
 * caller of it needs a check. */
typedef struct sett__allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *p);
    void *user;
} sett__allocator;
typedef struct sett__arena {
    const sett__allocator *mem; /* NULL: malloc and free */
    struct sett__address_space *space;  /* what lies in it has addresses of its own (space.c); NULL: it need not */
    sett_build *owner;          /* whose those are; NULL: of the build that begins the first chunk */
    struct sett__chunk *head;   /* the newest first */
    char *at, *end;
    size_t used; /* bytes of all chunks */
} sett__arena;
void *sett__arena_alloc(sett__arena *, size_t bytes); /* 16-byte aligned, zeroed; NULL when out of memory */
void *sett__arena_room(sett__arena *, size_t bytes);  /* the same, whatever it holds */
char *sett__arena_str(sett__arena *, const char *);
void sett__arena_free(sett__arena *);
void *sett__huge_pages(void *p, size_t bytes); /* p, where a large block lies in them if it can; NULL likewise */
/* A growing array in malloc'ed memory: false when out of memory (old data stays). */
bool sett__grow(const sett__allocator *, void **data, uint32_t *cap, uint32_t need, size_t item);
void *sett__mem_alloc(const sett__allocator *, size_t);
void *sett__mem_zeroed(const sett__allocator *, size_t);
void sett__mem_free(const sett__allocator *, void *);

/* ---- error.c: messages ------------------------------------------------------ */
/* Fills e (if any) and returns the status, so that a caller can `return` it. */
sett_status sett__error(sett_error *e, sett_status, const char *format, ...) SETT_PRINTF(3, 4);

/* ---- dtype.c ------------------------------------------------------------------ */
/* What is asked several times an op: by table, or one bit a type. */
typedef struct sett__type { uint8_t bits; char kind, cls; } sett__type;
extern const sett__type sett__types[64];
static inline sett__type sett__type_of(int d) /* of none: zeros */
{
    return sett__types[(unsigned)d < 64 ? d : 0];
}
static inline bool sett__dtype_valid(int d)
{
    return sett__type_of(d).bits != 0;
}
static inline char sett__dtype_kind(sett_dtype d) /* 'b' 'i' 'u' 'f' 's', see SETT_DTYPES */
{
    return sett__type_of((int)d).kind;
}
static inline char sett__dtype_class(sett_dtype d) /* the letter of ops.def: b i u w h f d, or 's' */
{
    return sett__type_of((int)d).cls;
}
static inline int sett__dtype_bytes(sett_dtype d) /* storage of one element, bits rounded up; BOOL 1 */
{
    return (sett__type_of((int)d).bits + 7) / 8;
}
static inline uint64_t sett__bytes_of(int dtype, uint64_t n) /* of n elements, packed */
{
    return dtype == SETT_BOOL ? n : (n * sett__type_of(dtype).bits + 7) / 8;
}
/* The bits as n elements of a type, of which one or the other is narrower than a byte: the lowest bits first. */
sett_val *sett__bitcast_packed(sett_build *, sett_site, sett_val *, sett_dtype to, uint32_t n);
#define SETT__TYPES_TEXT 320 /* the names of all types */
const char *sett__types_text(const char *classes, char buf[SETT__TYPES_TEXT]); /* "hfd": "f16, bf16, f32 or f64" */
#define SETT__INT_BIT(name, id, text, bits, kind) | ((uint64_t)((kind == 'i' || kind == 'u') && bits <= 64) << id)
#define SETT__FLOAT_BIT(name, id, text, bits, kind) | ((uint64_t)(kind == 'f') << id)
#define sett__dtype_is_wide(d) ((d) == SETT_I128 || (d) == SETT_U128)
static inline bool sett__dtype_is_float(sett_dtype d)
{
    return (unsigned)d < 64 && (0 SETT_DTYPES(SETT__FLOAT_BIT)) >> d & 1;
}
/* Of up to 64 bits: what counts, indexes and has known ranges. Those of 128 only compute. */
static inline bool sett__dtype_is_int(sett_dtype d)
{
    return (unsigned)d < 64 && (0 SETT_DTYPES(SETT__INT_BIT)) >> d & 1;
}
sett_dtype sett__dtype_parse(const char *text, size_t len); /* 0: none */
/* Bits of a number of a type and back; floats round to nearest even. */
uint64_t sett__bits_of_float(sett_dtype, double);
uint64_t sett__bits_of_int(sett_dtype, int64_t); /* wraps */
double sett__float_of_bits(sett_dtype, uint64_t);
int64_t sett__int_of_bits(sett_dtype, uint64_t); /* sign- or zero-extended */
/* The same between bits of arithmetic types, rounding once, whatever the floating-point environment:
 * float to float, |integer| to float, float to integer (truncates, saturates, NaN 0). A NaN result is
 * always f16, bf16 0x7fff, f32 0x7fffffff, f64 0x7ff8000000000000. */
uint64_t sett__float_convert(sett_dtype from, sett_dtype to, uint64_t bits);
uint64_t sett__float_of_integer(sett_dtype to, bool negative, uint64_t magnitude);
uint64_t sett__integer_of_float(sett_dtype from, sett_dtype to, uint64_t bits);
bool sett__dtype_converts(sett_dtype from, sett_dtype to); /* is there a CONVERT? Others are made of several, and BITCASTs */
/* Of the floats of 8 bits and less. To them: to nearest even (f8E8M0FNU: up), and past the greatest number that number;
 * without saturate as CuTe's constructors do: infinity or NaN where there is one, f8E8M0FNU to nearest even. */
uint64_t sett__narrow_of_f32(sett_dtype, uint32_t bits, bool saturate);
uint32_t sett__f32_of_narrow(sett_dtype, uint64_t bits);

/* ---- tape: the data ---------------------------------------------------------------- */
#define SETT__TAPE_VERSION 1
#include "ops.h"

typedef struct sett__op {
    uint8_t code, dtype; /* dtype of the result's elements (of a root: its declared ones); 0: no result */
    uint8_t sub, flags;
    uint32_t n;          /* elements of the result; 0: none, or an unsized root */
    uint32_t args;       /* first operand in tape->arg: an op index, or SETT__NONE */
    uint16_t n_args;
    uint16_t depth;      /* of open regions; filled by the reader, not serialised. While recording: where it lives */
    uint32_t site;       /* in tape->site; SETT__NONE: unknown */
    uint32_t other;      /* IF: its ELSE or END; ELSE, FOR, LOOP: its END; WHILE: its LOOP; END: its opener (of an arm, the ELSE). Filled by the reader.
                          * While recording: the serial of the region that the op lives in */
    int64_t imm;
} sett__op;

/* Host expressions over symbols: postfix, evaluated in 64 bits with overflow checks
 * by expr.c. Grid, extents, strides, checks. */
typedef enum sett__xcode {
    SETT__X_CONST, SETT__X_SYM, SETT__X_ADD, SETT__X_SUB, SETT__X_MUL, SETT__X_DIV, SETT__X_REM, SETT__X_MIN,
    SETT__X_MAX, SETT__X_SHL, SETT__X_SHR, SETT__X_AND, SETT__X_SELECT, SETT__X_LT, SETT__X_SCALAR, SETT__X_LOG2 /* ceil_log2(x), of x > 0 */,
    SETT__N_XCODES
} sett__xcode;
typedef struct sett__xop {
    uint8_t code; /* sett__xcode */
    int64_t imm;  /* CONST: the number; SYM, SCALAR: index */
} sett__xop;
typedef struct sett__expr { uint32_t first, count; } sett__expr; /* in sig->code; count 0: absent (means 1 for grid, block, cluster) */

typedef struct sett__symbol {
    const char *name;
    int64_t div;  /* >= 1; checked at launch */
    uint8_t wide; /* 64 bits in the kernel, else 32 and checked to fit */
    sett__expr value; /* any: the launch computes it, of symbols that arguments give, and no expression names it */
} sett__symbol;
typedef struct sett__leaf { /* one leaf of a parameter's layout, colexicographic order */
    uint8_t mode;           /* top-level mode that it belongs to */
    sett__expr extent, stride;
} sett__leaf;
typedef struct sett__param {
    const char *name;
    uint8_t scalar; /* SETT__BY_*: passed by value, no leaves */
    uint8_t dtype;
    uint8_t access; /* SETT__ACCESS_*: what the kernel does with it */
    uint8_t wide;   /* 1: offsets are 64-bit; 0: the launch checks that cosize is at most 2^31 */
    uint8_t restricted;
    uint32_t align; /* bytes, power of two; checked at launch */
    uint8_t rank;   /* top-level modes */
    uint32_t leaf, n_leaf; /* in sig->leaf */
    uint32_t bytes; /* of a struct; dtype is U8 then */
} sett__param;
enum { SETT__BY_NUMBER = 1, SETT__BY_STRUCT };
enum { SETT__ACCESS_READ = 1, SETT__ACCESS_WRITE = 2 };
/* What the body relies on and could not prove: expr is 0, or the launch is refused with SETT_E_DIVIDE. */
typedef struct sett__check {
    sett__expr expr;
    const char *text, *file; /* text: "sett_composition: ..."; file NULL: not known */
    uint32_t line;           /* file and line are no part of the key */
} sett__check;
/* What one ASSERT of the tape says when it fails, for engines that have only the signature. Made of the op by
 * sett__tape_claims: no part of the tape's bytes. */
typedef struct sett__claim {
    const char *text;  /* a printf format, one conversion an operand */
    const char *file;  /* NULL: not known */
    const char *types; /* sett_dtype of each operand */
    uint32_t line, op; /* op: its index in the tape */
} sett__claim;
/* What a launch must know: travels in META, so that no launch needs the tape.
 * Kernel parameters in order: each param (tensor: 64-bit address; scalar: its type,
 * BOOL as a byte; struct: its bytes), then each symbol (4 bytes, or 8 if wide), each at its natural
 * alignment. A kernel takes all of them, used or not. */
typedef struct sett__sig {
    uint32_t n_sym, n_param, n_leaf, n_code, n_check;
    sett__symbol *sym;
    sett__param *param;
    sett__leaf *leaf;
    sett__xop *code;
    sett__check *check;
    sett__expr grid[3], block[3], cluster[3];
    uint32_t smem;       /* bytes of the block's shared window: static in the code up to SETT__STATIC_SMEM, else given
                          * at launch */
    uint32_t smem_align; /* of the window */
    sett__expr smem_more; /* any: bytes that a launch adds behind smem, all of them given at launch then */
    uint32_t n_derived;  /* symbols with a value: the last of n_sym */
    bool early;          /* it has a DEPWAIT: from sm_90 on it may begin before the grids before it end */
    uint32_t n_claim;    /* any: on a GPU the packed block ends with the address of a sett__failure */
    sett__claim *claim;
} sett__sig;
/* Is the block's window in the code, or given at launch? */
static inline bool sett__smem_static(const sett__sig *s)
{
    return s->smem <= SETT__STATIC_SMEM && !s->smem_more.count;
}
/* What a GPU's thread writes when an assertion fails, into memory that the host reads. The first thread of all takes it
 * (FREE to TAKEN), writes the rest, then TOLD; the host makes it FREE again. */
enum { SETT__FAILURE_FREE, SETT__FAILURE_TAKEN, SETT__FAILURE_TOLD };
typedef struct sett__failure {
    uint32_t state, claim; /* claim: its index in the signature */
    uint32_t block[3], thread[3];
    uint64_t operand[32]; /* the bits, low aligned; SETT__MAX_PRINT */
} sett__failure;

typedef struct sett__site_ref { uint32_t file, func; uint32_t line; } sett__site_ref; /* file, func: in tape->string */
typedef struct sett__tape {
    sett__arena arena; /* owns all below */
    sett__sig sig;
    uint32_t n_op, n_arg, n_index, n_string, n_site;
    sett__op *op;
    uint32_t *arg;
    uint32_t *index;      /* PICK */
    const char **string;  /* PRINTF formats first met first; also file names of sites */
    uint32_t n_path;      /* the last so many of those are known to be of sites alone */
    sett__site_ref *site; /* not part of the key */
    uint16_t min_sm, min_ptx; /* over the ops; filled by the reader and by finish */
    uint16_t min_ptx_90;      /* of sm_90 and later, for instructions that other targets do without */
} sett__tape;

/* ---- tape_write.c, tape_read.c: bytes ----------------------------------------------------------- */
/* Canonical: equal tapes give equal bytes; little endian, LEB128, versioned. With
 * sites false the bytes are the kernel's identity (what the key hashes); with true a
 * section of call sites follows. *bytes is from the allocator (NULL: malloc). */
sett_status sett__tape_write(const sett__tape *, bool sites, const sett__allocator *, void **bytes, size_t *len, sett_error *);
/* Bounds-checked; also runs sett__tape_verify. The tape owns copies of everything. */
sett_status sett__tape_read(sett__tape *, const void *bytes, size_t len, sett_error *);
/* The same with the tape's memory from an allocator that outlives it. Both overwrite the tape, and
 * leave it empty when they fail. */
sett_status sett__tape_read_in(sett__tape *, const sett__allocator *, const void *bytes, size_t len, sett_error *);
void sett__tape_free(sett__tape *);
/* The signature alone, for META: the same encoding. */
sett_status sett__sig_write(const sett__sig *, const sett__allocator *, void **bytes, size_t *len, sett_error *);
/* What tells a signature that was verified from others, as sett__tape_write has it: at most `room` bytes; 0: they are more. */
size_t sett__sig_bytes(const sett__sig *, bool sites, void *to, size_t room);
sett_status sett__sig_read(sett__sig *, sett__arena *, const void *bytes, size_t len, sett_error *);

/* ---- tape_link.c ------------------------------------------------------------------------- */
/* Fills op.depth, op.other, min_sm, min_ptx; used by read and by finish. False: regions do not nest.
 * IF, ELSE, FOR, LOOP and END have the depth of what is around them. */
bool sett__tape_link(sett__tape *);
/* Fills sig.claim of a verified tape. False: out of memory. */
bool sett__tape_claims(sett__tape *);
int sett__least_sm(const sett__op *); /* 0: any */
bool sett__opens(int code); /* a region */
bool sett__closes(int code);

/* ---- text.c: growing text --------------------------------------------------------------- */
/* Either grows in memory of `mem` (grow true), or writes at most cap bytes as snprintf does.
 * len counts all that was put, buf is NUL-ended if cap > 0. */
typedef struct sett__sink {
    char *buf;
    size_t len, cap;
    const sett__allocator *mem;
    bool grow, failed;
} sett__sink;
void sett__put(sett__sink *, const char *text);
void sett__put_n(sett__sink *, const char *text, size_t);
void sett__putf(sett__sink *, const char *format, ...) SETT_PRINTF(2, 3); /* at most 255 bytes */
void sett__put_int(sett__sink *, int64_t);
/* A part of a text, on one line of a message: control characters escaped, a tab a blank. How far to the right `at` of it is. */
size_t sett__put_shown(sett__sink *, const char *text, size_t n, size_t at);
void sett__put_quoted(sett__sink *, const char *); /* "a\n\x01" */
void sett__put_name(sett__sink *, const char *);   /* as it is, or quoted where it is no name, or `_` */

/* ---- lex.c: tokens of a text --------------------------------------------------------------- */
typedef struct sett__lex {
    const char *text, *at, *line; /* all of it, here, and the start of this line */
    size_t len;
    sett__arena *arena; /* of names and strings */
    sett_error *err;
    sett_status status; /* the first failure; then nothing more is read */
} sett__lex;
bool sett__lex_fail(sett__lex *, const char *at, const char *format, ...) SETT_PRINTF(3, 4); /* false, all of them */
bool sett__lex_no_memory(sett__lex *);
#define SETT__LEX_FAIL(x, ...) sett__lex_fail(x, (x)->at, __VA_ARGS__)
void sett__lex_space(sett__lex *);                      /* and a comment, which `;` begins; not a line's end */
bool sett__sees(sett__lex *, const char *token);
bool sett__accept(sett__lex *, const char *token);      /* false: not here, no failure */
bool sett__accept_word(sett__lex *, const char *word);  /* the whole of a word */
bool sett__expect(sett__lex *, const char *token);
bool sett__lex_digits(sett__lex *, uint64_t *, uint64_t most);
bool sett__lex_u32(sett__lex *, uint32_t *, uint32_t most);
bool sett__lex_int(sett__lex *, int64_t *);
bool sett__lex_hex(sett__lex *, uint64_t *);            /* behind 0x */
bool sett__lex_string(sett__lex *, const char **);
bool sett__lex_chars(sett__lex *, const char *set, const char *what, const char **); /* or a string */
bool sett__lex_name(sett__lex *, const char *what, const char **);                   /* or a string */
bool sett__lex_type(sett__lex *, uint8_t *dtype, uint32_t *n);
#define SETT__LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SETT__DIGITS "0123456789"

/* ---- tape_text.c, tape_parse.c: print and parse --------------------------------------------------------- */
/* print, then parse, then write gives identical bytes. Sites print as `@ file:line func`
 * at the line's end when asked for. The text is NUL-ended, from the allocator. */
sett_status sett__tape_print(const sett__tape *, bool sites, const sett__allocator *, char **text, sett_error *);
sett_status sett__tape_parse(sett__tape *, const char *text, sett_error *); /* errors show line, column and a caret */
sett_status sett__tape_parse_in(sett__tape *, const sett__allocator *, const char *text, sett_error *);
/* One op in that form, whatever is wrong with it. snprintf-like. */
int sett__op_str(const sett__tape *, uint32_t op, char *buf, size_t size);

/* ---- verify.c, verify_sig.c ---------------------------------------------------------------------------------- */
/* Types, operand counts, dominance by regions, spaces, alignment, bounds of static
 * accesses to smem and rmem, limits. target NULL: any; else "sm_90a": min sm and the
 * target's shared memory too. Errors name the site of the op. */
sett_status sett__tape_verify(const sett__tape *, const char *target, sett_error *);
/* Of a tape that was verified for any target: the rest of it for one. */
sett_status sett__tape_fits(const sett__tape *, const char *target, sett_error *);
/* The same for a signature alone: names, layouts, expressions, constant grid, block, cluster. */
sett_status sett__sig_verify(const sett__sig *, sett_error *);

/* Where parameter i of the packed block begins, or symbol i - n_param; i = n_param + n_sym: where the last one ends. */
uint64_t sett__packed_at(const sett__sig *, uint32_t i);

/* ---- target.c ------------------------------------------------------------------------------------------- */
/* "sm_90a" to 90 and 'a' (0 for none). False: not a target. */
bool sett__target_parse(const char *target, int *sm, char *suffix);
const char *sett__target_list(char *buf, size_t size); /* those that code is made for: "sm_70, ..., sm_90[a], ..." */
/* target_text.c. Why len bytes of text are no target, with those that there are; in a list, which comma is missing. compiled: the
 * CPU is a target too, as it is of a compile and not of what is cached. */
enum { SETT__TARGET_FAULT = 400 };
const char *sett__target_fault(const char *text, size_t len, bool compiled, char *buf, size_t size);
uint32_t sett__target_smem(int sm); /* bytes of shared memory that one block may use */
uint32_t sett__target_smem_most(void); /* of any */
sett_status sett__target_cpu_gives(const sett__tape *, sett_error *); /* SETT_E_LIMIT of what no GPU could run */
/* Of a tape whose signature was verified: reads the target, which must give a block what it needs. */
sett_status sett__target_gives(const sett__tape *, const char *target, int *sm, sett_error *);
/* The lowest PTX ISA that holds the target and what needs min_ptx: 78 for 7.8; in the key. 0: no code is made for it. */
int sett__target_isa(const char *target, int min_ptx);
int sett__tape_isa(const sett__tape *, const char *target);

/* ---- eval.c: one op on constants ------------------------------------------------------------------ */
/* Bits in, bits out, bit for bit as the engines compute. dtype: the operands' type
 * (CONVERT: source type; sub carries nothing, to is the result's type). False: this op is
 * not folded (approximations). */
bool sett__eval(sett__code, sett_dtype dtype, sett_dtype to, int flags, const uint64_t *in, int n_in, uint64_t *out);

/* ---- op_text.c: texts that ops carry ------------------------------------------------------------ */
/* The next conversion of a printf format after *p: its letter, 0 at the end, '?' if it is none that a kernel may print. */
char sett__next_conversion(const char **p, int *longs);
/* The text of inline PTX: "xor3 u32:lop3.b32 $0, $1, $2, $3, 0x96;": the stand-in's name, or -; the results' types; what the
 * assembler reads, where $n is a result or, after those, an operand, and $$ a dollar. */
enum { SETT__INLINE_RESULTS = 16, SETT__INLINE_OPERANDS = 32, SETT__INLINE_WHAT = 160 };
typedef struct sett__inline {
    const char *name, *text; /* name: not ended; of length 0: none */
    uint32_t name_len;
    bool nothing; /* of its stand-in: SETT_NOTHING */
    uint8_t n_result, result[SETT__INLINE_RESULTS];
} sett__inline;
/* False: `what` says what is wrong, beside an op of so many operands. */
bool sett__inline_read(const char *, uint32_t n_operands, sett__inline *, char what[SETT__INLINE_WHAT]);
#define SETT__INLINE_MARK "// of op " /* in PTX, before such text: and the op's number */
#define SETT__INLINE_NAME "a stand-in's name is 1 to 100 letters, digits, _ and dots"
/* Of an op for errors: "op 9 `%9 = add i32 ...`", or "sett_inline_ptx `its text`". */
const char *sett__op_call(int code); /* the call that records such ops, where one alone does; else NULL */
bool sett__strings_fit(const sett__tape *);
void sett__op_title(const sett__tape *, uint32_t op, char *buf, size_t size);
bool sett__inline_takes(int dtype); /* as an operand or a result */
bool sett__ptx_isa_known(int isa);  /* 78 for 7.8; 0 too */

/* ---- expr.c --------------------------------------------------------------------------------------------- */
/* sym: one value a symbol; scalar: one value a param (integers only). False: overflow, division by zero. */
bool sett__expr_eval(const sett__sig *, sett__expr, const int64_t *sym, const int64_t *scalar, int64_t *out);
/* The same of one that needs no signature beside it: some words, for whoever evaluates it often. to NULL: how many. */
uint32_t sett__expr_pack(const sett__sig *, sett__expr, uint32_t *to);
uint32_t sett__expr_unpack(const uint32_t *word, uint32_t n, sett__xop *to); /* how many codes: n at most */
bool sett__packed_eval(const uint32_t *word, uint32_t n, const int64_t *sym, const int64_t *scalar, int64_t *out); /* n > 0 */
/* Text in CuTe's way with names: "(N+255)/256". snprintf-like. */
int sett__expr_str(const sett__sig *, sett__expr, char *buf, size_t size);
void sett__put_expr(sett__sink *, const sett__sig *, sett__expr);
/* How a code takes its operands and reads: infix with C's precedence, or (level 0) as a call. */
typedef struct sett__xinfo { uint8_t operands, level; const char *text; } sett__xinfo;
extern const sett__xinfo sett__xops[SETT__N_XCODES];
/* Postfix that leaves one number, over symbols and integer scalars that exist. */
bool sett__expr_valid(const sett__sig *, sett__expr);
bool sett__expr_same(const sett__sig *, sett__expr, sett__expr); /* the same code */
bool sett__expr_const(const sett__sig *, sett__expr, int64_t *out); /* depends on nothing, and has a value */
#endif
