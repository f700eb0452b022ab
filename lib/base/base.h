/* SPDX-License-Identifier: Apache-2.0 */
/* What every room uses: limits, arenas, errors, element types, growing text, tokens, addresses of builds. */
#ifndef SETT_LIB_BASE_H
#define SETT_LIB_BASE_H
#include "words.h"
#include <pthread.h>
#include <sett/arg.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define SETT__NONE UINT32_MAX
#define SETT__MAX_RANK 8      /* modes of a buffer */
#define SETT__MAX_DEPTH 64    /* open regions */
#define SETT__MAX_NEST 64     /* levels of a tuple, or of composed layouts */
#define SETT__TUPLE_LEAVES 4096 /* leaves of a tuple: tuples share their children, so each call can double the leaves without
                                 * memory of its own */
#define SETT__MAX_WIDTH 65536 /* elements of one value */
#define SETT__MAX_OPS (1u << 24)
#define SETT__MAX_STRING 65535 /* bytes of a name or format */
#define SETT__MAX_PARAMS 1024  /* parameters, and as many symbols */
#define SETT__MAX_LEAVES 64    /* of one parameter's layout */
#define SETT__MAX_CHECKS 1024  /* of one kernel, for a launch */
#define SETT__MAX_EXPR 1024    /* codes of one host expression */
#define SETT__EXPR_DEPTH 64    /* numbers on the stack while one is evaluated */
#define SETT__PARAM_BYTES 4096 /* of a kernel's parameter block */
#define SETT__VALUE_ALIGN 16   /* greatest alignment of a struct in it */
#define SETT__MAX_ALIGN 128    /* bytes, greatest alignment that an access may claim */
#define SETT__MAX_PARAM_ALIGN 65536
#define SETT__MAX_SMEM (1 << 20)
#define SETT__STATIC_SMEM (48 << 10) /* a larger window is given at launch; this much can be static in the code on every
                                      * device */
#define SETT__MAX_SMEM_ALIGN 1024
#define SETT__MAX_PRINT 32     /* operands of one printf */
#define SETT__COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- arena.c: memory that is freed together --------------------------------------------------- */
/* The hook for allocations, which the out-of-memory tests replace. alloc returns NULL on failure. Inside a build call
 * sett__new() instead: on failure it fails the build with SETT_E_MEMORY and returns memory of the build's reserve, so that its
 * caller needs no check. */
typedef struct sett__allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *p);
    void *user;
} sett__allocator;
typedef struct sett__arena {
    const sett__allocator *mem; /* NULL: malloc and free */
    struct sett__address_space *space;  /* takes addresses from it that tell whose object a pointer is (space.c); NULL: from
                                         * mem */
    sett_build *owner;          /* of these addresses; NULL: the build that lies first in the arena */
    struct sett__chunk *head;   /* the newest first */
    char *at, *end;
    size_t used; /* bytes of all chunks */
    char *text, *text_end; /* room for more characters */
} sett__arena;
void *sett__arena_alloc(sett__arena *, size_t bytes); /* 16-byte aligned, zeroed; NULL when out of memory */
void *sett__arena_room(sett__arena *, size_t bytes);  /* the same, not zeroed */
char *sett__arena_chars(sett__arena *, size_t bytes); /* zeroed, one behind the other */
char *sett__arena_str(sett__arena *, const char *);
void sett__arena_free(sett__arena *);
void *sett__huge_pages(void *p, size_t bytes); /* returns p; asks for huge pages if the block is large; NULL gives NULL */
/* A growing array in malloc'ed memory. False: out of memory, and the old data stays. */
bool sett__grow(const sett__allocator *, void **data, uint32_t *cap, uint32_t need, size_t item);
void *sett__mem_alloc(const sett__allocator *, size_t);
void *sett__mem_zeroed(const sett__allocator *, size_t);
void sett__mem_free(const sett__allocator *, void *);

/* ---- error.c: messages ------------------------------------------------------ */
/* Fills e (if any) and returns the status, so that a caller can `return` it. */
sett_status sett__error(sett_error *e, sett_status, const char *format, ...) SETT_PRINTF(3, 4) __attribute__((cold));

/* ---- dtype.c ------------------------------------------------------------------ */
/* Facts about a type that recording asks for several times an operation: a table lookup, or one bit a type. */
typedef struct sett__type { uint8_t bits; char kind, cls; } sett__type;
extern const sett__type sett__types[64];
static inline sett__type sett__type_of(int d) /* zeros for an id that is none */
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
const char *sett__memory_type(sett_dtype); /* "i8": CuTe's name of a type in memory, which has no sign; Booleans are bytes */
#define SETT__TYPES_TEXT 320 /* room for the names of all types */
const char *sett__types_text(const char *classes, char buf[SETT__TYPES_TEXT]); /* "hfd": "f16, bf16, f32 or f64" */
#define SETT__INT_BIT(name, id, text, bits, kind) | ((uint64_t)((kind == 'i' || kind == 'u') && bits <= 64) << id)
#define SETT__FLOAT_BIT(name, id, text, bits, kind) | ((uint64_t)(kind == 'f') << id)
#define sett__dtype_is_wide(d) ((d) == SETT_I128 || (d) == SETT_U128)
static inline bool sett__dtype_is_float(sett_dtype d)
{
    return (unsigned)d < 64 && (0 SETT_DTYPES(SETT__FLOAT_BIT)) >> d & 1;
}
/* Integers of up to 64 bits: they count, index and have known ranges. Those of 128 bits only compute. */
static inline bool sett__dtype_is_int(sett_dtype d)
{
    return (unsigned)d < 64 && (0 SETT_DTYPES(SETT__INT_BIT)) >> d & 1;
}
sett_dtype sett__dtype_parse(const char *text, size_t len); /* 0: none */
/* A number of a type to its bits, and back; floats round to nearest even. */
uint64_t sett__bits_of_float(sett_dtype, double);
uint64_t sett__bits_of_int(sett_dtype, int64_t); /* wraps */
double sett__float_of_bits(sett_dtype, uint64_t);
int64_t sett__int_of_bits(sett_dtype, uint64_t); /* sign- or zero-extended */
/* Conversions between bits of arithmetic types, rounded once, whatever the floating-point environment: float to float,
 * |integer| to float, float to integer (truncates, saturates, NaN 0). A NaN result is always the same: f16, bf16 0x7fff, f32
 * 0x7fffffff, f64 0x7ff8000000000000. */
uint64_t sett__float_convert(sett_dtype from, sett_dtype to, uint64_t bits);
uint64_t sett__float_of_integer(sett_dtype to, bool negative, uint64_t magnitude);
uint64_t sett__integer_of_float(sett_dtype from, sett_dtype to, uint64_t bits);
bool sett__dtype_converts(sett_dtype from, sett_dtype to); /* can one CONVERT do it? Others take several, and BITCASTs */
/* To and from floats of 8 bits and less. To them: rounds to nearest even (f8E8M0FNU: up). saturate: past the greatest number it
 * gives that number. Else as CuTe's constructors: infinity or NaN if the type has one, and f8E8M0FNU to nearest even. */
uint64_t sett__narrow_of_f32(sett_dtype, uint32_t bits, bool saturate);
uint32_t sett__f32_of_narrow(sett_dtype, uint64_t bits);

/* ---- text.c: growing text --------------------------------------------------------------- */
/* A text that grows in memory of `mem` (grow is true), or is cut off at cap bytes as snprintf does. len counts all that was
 * put. buf ends in a NUL if cap > 0. */
typedef struct sett__sink {
    char *buf;
    size_t len, cap;
    const sett__allocator *mem;
    bool grow, failed;
} sett__sink;
void sett__put(sett__sink *, const char *text);
void sett__put_n(sett__sink *, const char *text, size_t);
void sett__putf(sett__sink *, const char *format, ...) SETT_PRINTF(2, 3);
void sett__put_int(sett__sink *, int64_t);
/* Puts text for one line of a message: control characters are escaped, a tab is a blank. Returns the column of byte `at`. */
size_t sett__put_shown(sett__sink *, const char *text, size_t n, size_t at);
void sett__put_quoted(sett__sink *, const char *); /* "a\n\x01" */
void sett__put_name(sett__sink *, const char *);   /* a name as it is; quoted if it is no name, or `_` */
bool sett__is_name(const char *, size_t most);     /* letters, digits and _, no digit first, 1 to most of them; NULL: none */

/* ---- lex.c: tokens of a text --------------------------------------------------------------- */
typedef struct sett__lex {
    const char *text, *at, *line; /* all of the text, the next byte, the start of this line */
    size_t len;
    sett__arena *arena; /* of names and strings */
    sett_error *err;
    sett_status status; /* of the first failure; then nothing more is read */
} sett__lex;
/* Like all calls that fail, returns false. */
bool sett__lex_fail(sett__lex *, const char *at, const char *format, ...) SETT_PRINTF(3, 4);
bool sett__lex_no_memory(sett__lex *);
#define SETT__LEX_FAIL(x, ...) sett__lex_fail(x, (x)->at, __VA_ARGS__)
void sett__lex_space(sett__lex *);                      /* skips blanks and a comment, which begins with `;`, up to the line's
                                                         * end */
bool sett__sees(sett__lex *, const char *token);
bool sett__accept(sett__lex *, const char *token);      /* false: another token is here, which is no failure */
bool sett__accept_word(sett__lex *, const char *word);  /* matches only a whole word */
bool sett__expect(sett__lex *, const char *token);
bool sett__lex_digits(sett__lex *, uint64_t *, uint64_t most);
bool sett__lex_u32(sett__lex *, uint32_t *, uint32_t most);
bool sett__lex_int(sett__lex *, int64_t *);
bool sett__lex_hex(sett__lex *, uint64_t *);            /* the digits after 0x */
bool sett__lex_string(sett__lex *, const char **);
bool sett__lex_chars(sett__lex *, const char *set, const char *what, const char **); /* or a string */
bool sett__lex_name(sett__lex *, const char *what, const char **);                   /* or a string */
bool sett__lex_type(sett__lex *, uint8_t *dtype, uint32_t *n);
#define SETT__LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SETT__DIGITS "0123456789"

/* ---- space.c: the addresses of builds and their objects, each given out once ------------------- */
#define SETT__GRAIN_SHIFT 12
typedef struct sett__address_space {
    pthread_mutex_t lock;
    uintptr_t base;
    size_t size;                  /* bytes; 0: not reserved yet, or not possible */
    _Atomic(sett_build *) *owner; /* build of each grain; NULL: none, or one that has ended */
    atomic_bool full;             /* the last request found no addresses, though there may be memory */
    uint32_t *used;               /* grains in use of each segment */
    size_t at;                    /* the next grain */
    uint32_t spare[32], n_spare;  /* unused segments, whose memory serves the next ones */
    sett_build **open;            /* builds, the newest first */
    void *mapped;
} sett__address_space;
extern sett__address_space sett__addresses;      /* of this process */
sett__address_space *sett__space_get(void);      /* the same; the first call reserves it */
bool sett__space_reserve(sett__address_space *, size_t size); /* false: that many addresses cannot be had */
void sett__space_release(sett__address_space *);
/* take gives whole grains, at addresses that were not in use since the space last started over. NULL: no memory. owner NULL:
 * the address itself is the owner. give returns grains of which the first `used` bytes were used. */
void *sett__space_take(sett__address_space *, size_t bytes, sett_build *owner);
void sett__space_give(sett__address_space *, void *, size_t bytes, size_t used);
static inline bool sett__in_space(const void *p)
{
    return (uintptr_t)p - sett__addresses.base < sett__addresses.size;
}
/* The build of an object or a build; NULL if that build has ended. It reads only the address, not the memory. */
static inline sett_build *sett__owner(const void *p)
{
    size_t at = (uintptr_t)p - sett__addresses.base;
    return at < sett__addresses.size
               ? atomic_load_explicit(&sett__addresses.owner[at >> SETT__GRAIN_SHIFT], memory_order_relaxed)
               : NULL;
}

/* ---- number.c -------------------------------------------------------------------------- */
int64_t sett__gcd(int64_t, int64_t); /* >= 0; the gcd of 0 and x is |x| */
uint64_t sett__magnitude(int64_t); /* |x|, also of INT64_MIN */
int sett__log2_of(int64_t); /* of a power of two; -1: it is none */

#endif
