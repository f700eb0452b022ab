/* SPDX-License-Identifier: Apache-2.0 */
/* The map of lib/: what its files share, grouped by the file that defines it.
 *
 * A build records ops into a growing list (build.c, emit.c); the public calls of
 * value.c, tensor.c, access.c and control.c are thin over that. When the body has
 * returned, sett__build_finish() orders the live ops into a sett__tape: from then
 * on a kernel is data. tape*.c print, parse, serialise and verify it; jit/ runs or
 * compiles it. Nothing in a tape is a pointer into the build. */
#ifndef SETT_LIB_H
#define SETT_LIB_H
#include "tape.h"
#include <pthread.h>
#include <stdatomic.h>

typedef struct sett__ctx sett__ctx; /* below */

/* ---- recording: the data -------------------------------------------------------------------------- */
typedef struct sett__region {
    uint32_t op;       /* IF, ELSE, FOR or LOOP that opened it */
    uint32_t last;     /* op after which a hoisted op goes: the last one before the open child */
    uint32_t serial;   /* values carry the serial of the region that they live in */
    sett_site site;
} sett__region;
typedef enum sett__kind { SETT__K_VAL = 1, SETT__K_LAYOUT, SETT__K_TENSOR, SETT__K_STRUCT, SETT__K_REGION } sett__kind;
/* Head of every object: sett__use() checks it before anything else is read. */
typedef struct sett__head {
    sett_build *b;
    uint64_t stamp; /* equals b->stamp while the build lives; 0 in a poison object */
    uint8_t kind;
    bool poison;
} sett__head;
struct sett_val {
    sett__head head;
    uint32_t id;        /* op index while recording; SETT__NONE for a lazy predicate not yet made */
    uint32_t n;         /* elements: the product of shape */
    uint8_t dtype;
    bool scalar;        /* rank 0 */
    bool weak;          /* made from a C number: takes the type of what is beside it */
    bool uniform;       /* the same in every thread of the block */
    uint16_t depth;     /* of the region that it was made in, and its serial: its op may stand further out */
    uint32_t serial;
    int64_t div;        /* integer scalars: known to divide it; >= 1 (0: is zero) */
    int64_t lo, hi;     /* integer scalars: known range */
    sett_arg shape;     /* static; rank-0 node for a scalar */
    struct sett__pred *pred; /* coordinates and bound of an elem_less, else NULL (tensor.c) */
};
/* R(c) = inner(offset + outer(c)); inner absent: plain shape:stride. */
struct sett_layout {
    sett__head head;
    sett_arg shape, stride;      /* the outer layout; congruent */
    uint8_t bits, base, has_inner; /* swizzle S<bits,base,shift>, when has_inner is 1 */
    int8_t shift;
    sett_arg offset;             /* INT, VALUE or an arithmetic tuple; of a composed layout */
    sett_layout *inner;          /* when has_inner is 2: any layout */
    uint32_t seen, seen_in;      /* sett__use_layout found its values visible at depth seen - 1, in the region of this serial */
};
struct sett_tensor {
    sett__head head;
    uint8_t space, dtype; /* sett_space; dtype 0 for a coordinate tensor */
    uint32_t root;        /* op index of the root; SETT__NONE for a coordinate tensor */
    int32_t param;        /* index in the signature, or -1 */
    uint32_t align;       /* bytes: of the root's address */
    bool wide;            /* offsets are 64-bit though the parameter's are not: recast to narrower elements */
    sett_layout *layout;
    sett_arg offset;      /* elements from the root (INT or VALUE); the origin of a coordinate tensor */
    const char *name;     /* for messages and reports */
};
typedef struct sett__poison { sett_val val; sett_layout layout; sett_tensor tensor; sett_arg arg; } sett__poison;
typedef struct sett__by_value { /* sett_scalar_struct */
    uint32_t param;
    const sett_struct *of;
    struct sett__by_value *next;
} sett__by_value;
struct sett_build {
    /* Memory, which sett__build_again keeps. */
    const sett__allocator *mem;
    /* the growing tape: ops in order of recording, linked in order of execution */
    sett__op *op;
    uint32_t *next, *arg, *index;
    sett__site_ref *site;
    const char **string;
    sett_val **val_of;       /* op index to its value object, so that CSE gives one object */
    uint64_t *cse;           /* pure ops: hash << 32 | index + 1, open addressing */
    uint32_t *site_tab;      /* the same for sites */
    uint32_t *string_tab;    /* and for strings */
    uint32_t cap_op, cap_next, cap_arg, cap_index, cap_site, cap_string, cap_val_of, cap_cse, cap_site_tab, cap_string_tab;
    /* The rest begins as zeros. */
    sett__arena arena; /* the build itself lies in it, first */
    char *reserve;     /* what sett__new gives out after memory ran out */
    uint64_t stamp;
    bool open;         /* sett__space_open */
    pthread_t thread;
    sett_build *older, *newer;
    sett_error error; /* the first one; OK until then */
    int suppressed;
    bool in_kernel;   /* false: a build for host-side algebra only, nothing may be recorded that has an effect */
    bool lent;        /* to a body: not to be ended */
    bool asserts;     /* sett_assert records */
    bool no_fold;     /* tests: record what folding would compute */
    bool ended;
    sett__poison *poison;
    size_t reserve_at;
    uint32_t n_op, n_arg, n_index, n_site, n_string, n_cse, last_site;
    uint32_t entry_last;     /* last op of the entry block */
    uint32_t tail;           /* last op recorded in execution order */
    sett__region region[SETT__MAX_DEPTH];
    int depth;               /* open regions */
    uint32_t serials;
    uint32_t ended_if, ended_last; /* END of the if that a sett_else may follow, and where its region's hoisted ops go */
    sett__sig sig;           /* arrays grow as parameters are declared */
    uint32_t cap_sym, cap_param, cap_leaf, cap_code, cap_check;
    sett_val **sym_val;      /* one a symbol */
    uint32_t cap_sym_val;
    sett_val *grid[3], *block[3], *cluster[3]; /* as given; NULL: not given. Constants are const values */
    uint32_t said[2];        /* where grid and block were given: in site, and 1; 0: not told */
    const char *asked[5];    /* who asked first for an index, in the order of TID to LANE */
    int64_t block_size[3];   /* static extents of the block, 0: not static or not given yet */
    uint32_t smem_used, smem_align, more_align;
    sett_arg more;           /* bytes that a launch adds so far; more_root: the root of all of them, once there are any */
    uint32_t more_root;
    sett__by_value *by_value;
    struct sett__note *notes; /* what layouts decided: widths, what lost them (report.c) */
    struct sett__loop_name *loop_names;
    const void *user;
};

/* What the body calls the variable of a FOR; loop.c. */
typedef struct sett__loop_name {
    struct sett__loop_name *older;
    const char *name;
    uint32_t op;
} sett__loop_name;
const char *sett__loop_variable(const sett_build *, uint32_t op); /* "?": not known */
/* ---- space.c: the addresses of builds and their objects, each given out once ---------------------------- */
#define SETT__GRAIN_SHIFT 12
typedef struct sett__address_space {
    pthread_mutex_t lock;
    uintptr_t base;
    size_t size;                  /* bytes; 0: not reserved, or it could not be */
    _Atomic(sett_build *) *owner; /* of each grain; NULL: of nobody, or of a build that has ended */
    uint32_t *used;               /* grains in use of each segment */
    size_t at;                    /* the next grain */
    uint32_t spare[32], n_spare;  /* segments that nobody uses, whose memory serves the next ones */
    sett_build **open;            /* builds, the newest first */
    void *mapped;
} sett__address_space;
extern sett__address_space sett__addresses;      /* the process's */
sett__address_space *sett__space_get(void);      /* the same, reserved by the first call */
bool sett__space_reserve(sett__address_space *, size_t size); /* false: so many addresses are not to be had */
void sett__space_release(sett__address_space *);
/* Memory of whole grains at addresses that nobody had since the space was last begun anew. NULL: no memory.
 * owner NULL: the address is the owner. give: of `bytes`, the first `used` were. */
void *sett__space_take(sett__address_space *, size_t bytes, sett_build *owner);
void sett__space_give(sett__address_space *, void *, size_t bytes, size_t used);
void sett__space_open(sett__address_space *, sett_build *);
void sett__space_shut(sett__address_space *, sett_build *);
sett_build *sett__space_newest(sett__address_space *); /* the build that this thread opened last, and did not shut; NULL: none */
static inline bool sett__in_space(const void *p)
{
    return (uintptr_t)p - sett__addresses.base < sett__addresses.size;
}
/* The build that an object, or a build, is of; NULL: of one that has ended. Looks at no more than the address. */
static inline sett_build *sett__owner(const void *p)
{
    size_t at = (uintptr_t)p - sett__addresses.base;
    return at < sett__addresses.size
               ? atomic_load_explicit(&sett__addresses.owner[at >> SETT__GRAIN_SHIFT], memory_order_relaxed)
               : NULL;
}

/* ---- build.c: a build and its objects ----------------------------------------------------------- */
/* mem NULL: malloc. in_kernel: a body is about to record. NULL when out of memory. sett_build_end frees it. */
sett_build *sett__build_new(const sett__allocator *mem, bool in_kernel);
/* Ends a build, and begins another one with its arrays, which recording then need not fault in again. Its objects are
 * gone, and so are their addresses. The new one is not open. NULL: it held more than SETT__KEPT bytes, or memory ran out. */
sett_build *sett__build_again(sett_build *);
void sett__build_open(sett_build *); /* this thread records in it: what sett__build_new gives is */
#define SETT__KEPT ((size_t)64 << 20) /* as much as glibc's malloc keeps */
/* First error wins. site may have file NULL (no caller known). The message gets
 * "file:line: func: " in front. Returns the build's poison. */
void sett__fail(sett_build *, sett_site, const char *func, sett_status, const char *format, ...) SETT_PRINTF(5, 6);
/* Fails and returns `ret` when cond holds; func is the public name. */
#define SETT__FAIL_IF(b, site, func, cond, ret, status, ...) \
    do { \
        if (cond) { \
            sett__fail(b, site, func, status, __VA_ARGS__); \
            return ret; \
        } \
    } while (0)
/* Zeroed arena memory; never NULL up to SETT__RESERVE bytes: when memory ran out the build
 * has failed, and its reserve is given out so that the caller can finish without a check. */
#define SETT__RESERVE 65536
void *sett__new(sett_build *, size_t);
void *sett__new_object(sett_build *, sett__kind, size_t);
static inline sett__head sett__head_of(sett_build *b, sett__kind kind)
{
    return (sett__head){.b = b, .stamp = b->stamp, .kind = (uint8_t)kind};
}
/* False if x is poison, of another build than b (b may be NULL: taken from x), or of
 * an ended one; then the error is recorded where there is a build to record it. */
bool sett__use_val(sett_build *, sett_site, const char *func, const sett_val *);
bool sett__visible(const sett_val *);                  /* is the region that it was made in open? */
/* Most are: an object of b's, and a value that may be used here. Of others sett__use_val and its like say why not. */
static inline bool sett__fine(const sett_build *b, const sett__head *x, sett__kind kind)
{
    return sett__owner(x) == b && x->stamp == b->stamp && x->kind == kind && !x->poison && !b->error.status && !b->ended;
}
static inline bool sett__fine_val(const sett_build *b, const sett_val *v)
{
    return sett__fine(b, &v->head, SETT__K_VAL) && (!v->depth || sett__visible(v));
}
bool sett__use_layout(sett_build *, sett_site, const char *func, const sett_layout *);
bool sett__use_tensor(sett_build *, sett_site, const char *func, const sett_tensor *);
bool sett__use_struct(sett_build *, sett_site, const char *func, const sett_struct *);
/* sett_arg.reserved of a POISON that a call with constants alone gave, which has no build to fail: what it was. */
enum { SETT__FROM_TUPLE = UINT16_MAX, SETT__FROM_TOO_LARGE = 1, SETT__FROM_CEIL_DIV, SETT__FROM_ROUND_UP,
    SETT__FROM_SHAPE_DIV, SETT__FROM_BASIS, SETT__FROM_BINARY /* and the sett_binary_op */ };
bool sett__use_arg(sett_build *, sett_site, const char *func, sett_arg); /* every leaf of it */
/* A struct of arguments that begins with its size, which an older caller's may be shorter than ours. False: NULL or no size. */
bool sett__take_args(const sett__ctx *, void *to, size_t size, const void *from);
/* The build of an object. Of one whose build has ended, the build that this thread opened last, which is to fail for it.
 * NULL: there is none, or the object is NULL. */
sett_build *sett__failing(const void *object) __attribute__((cold));
static inline sett_build *sett__home(const void *object)
{
    sett_build *b = sett__owner(object);
    return b ? b : sett__failing(object);
}
/* The same of the first of two that is of a build that has not ended. */
#define SETT__HOME_OR(object, other) (sett__owner(object) ? sett__owner(object) : sett__first_home(other, object))
static inline sett_build *sett__first_home(sett_build *b, const void *object)
{
    return b ? b : sett__failing(object);
}
static inline sett_val *sett__poison_val_of(const void *object)
{
    sett_build *b = sett__home(object);
    return b ? &b->poison->val : NULL;
}
/* The same of an argument: of the first object below it; NULL if it is all static. */
sett_build *sett__build_below(sett_arg);
static inline sett_build *sett__build_of(sett_arg a)
{
    return a.kind == SETT_VALUE && a.u.v ? sett__home(a.u.v) : sett__build_below(a);
}
/* Of calls that look at an object, whether or not its build has failed. False: it is NULL, or its build has ended, which
 * fails the build that this thread opened last. Of an argument: all of it. */
bool sett__lives(const char *func, const void *object, sett__kind kind);
bool sett__arg_lives(sett_site, const char *func, sett_arg);
uint32_t sett__intern(sett_build *, const char *); /* index in string */
uint32_t sett__site(sett_build *, sett_site);
/* ---- emit.c: recording one op ------------------------------------------------------------------- */
/* Records one op: folds, merges with an equal visible one, hoists pure integer scalars
 * to the outermost region where their operands are visible. Returns its index. */
typedef struct sett__emit {
    sett__code code;
    sett_dtype dtype;
    uint8_t sub, flags;
    uint32_t n;
    int64_t imm;
    int n_args;
    const uint32_t *args;
    uint32_t at; /* the site in the build's list, and 1, where it is known already; else 0 */
    bool stay; /* a scalar integer or Boolean that is needed in this region alone: not moved out of it */
} sett__emit;
uint32_t sett__record(sett_build *, sett_site, const sett__emit *);
bool sett__in_kernel(sett_build *, sett_site, const char *func); /* else the build fails; NULL: no */
sett_val *sett__val(sett_build *, uint32_t id, sett_arg shape, bool scalar); /* the value object of an op */
sett_val *sett__scalar_val(sett_build *, uint32_t id);                       /* of one that gives a scalar */
void sett__settle(sett_val *);           /* it is made here */
sett_val *sett__const_bits(sett_build *, sett_site, sett_dtype, uint64_t bits);
sett_val *sett__const_in(sett_build *, sett_site, sett_dtype, uint64_t bits, sett_val *room); /* as a value that lives in *room */
bool sett__val_const(const sett_val *, uint64_t *bits); /* is it a CONST, folding on */
/* A scalar integer leaf as a value of 32 bits (64 if it does not fit, or is). */
sett_val *sett__arg_val(sett_build *, sett_site, sett_arg leaf);
bool sett__same_shape(sett_arg, sett_arg); /* static tuples that print the same */
/* result[i] = from[idx[i]]; looks through PACK and PICK. */
uint32_t sett__pick(sett_build *, sett_site, uint32_t from, const uint32_t *idx, uint32_t n);
uint32_t sett__splat(sett_build *, sett_site, uint32_t scalar, uint32_t n); /* a PICK of n times element 0 */
/* ---- fold.c: what an op folds to ---------------------------------------------------------------- */
/* What folds an op to an existing one: its index, or SETT__NONE. May rewrite the op. *in: what it learned of the two
 * operands of one of integers, which sett__facts need not look for again; NULL: nothing. */
typedef struct sett__known { int64_t lo, hi, div; sett_dtype dtype; } sett__known; /* ranges.c */
typedef struct sett__operands { sett__known room[2]; const sett__known *in[2]; } sett__operands;
uint32_t sett__fold(sett_build *, sett_site, sett__emit *, uint32_t *args, sett__operands *);
/* ---- ranges.c: what is known of integers -------------------------------------------------------- */
/* One elementwise op on operands of one type, already converted; an operand of one element is a
 * splat. Knows more of the result than sett__val(sett__record()): what sett_assume promised. */
sett_val *sett__op2(sett_build *, sett_site, sett__code, int flags, sett_val *, sett_val *);
sett_val *sett__op2_at(sett_build *, sett_site, uint32_t at, sett__code, int flags, sett_val *, sett_val *); /* at: as in sett__emit */
void sett__facts(sett_build *, sett_val *, const sett__operands *); /* fills div, lo, hi, uniform of an op's value; NULL: looks for all */
/* The same of a scalar integer or Boolean op. Constants, which are most operands, need no value object for it. */
sett__known sett__know_op(sett_build *, uint32_t op); /* of one that has no value object yet */
static inline sett__known sett__know(sett_build *b, uint32_t op)
{
    const sett_val *v = b->val_of[op];
    return v ? (sett__known){v->lo, v->hi, v->div, (sett_dtype)v->dtype} : sett__know_op(b, op);
}
void sett__dtype_range(sett_dtype, int64_t *lo, int64_t *hi); /* of an integer type; U64: all of int64, meaning unknown */
bool sett__no_wrap(sett_build *, uint32_t op); /* ADD SUB MUL of scalar integers: the ranges prove that it does not wrap */
/* ---- value.c: arithmetic ------------------------------------------------------------------------ */
sett_val *sett__converted(sett_build *, sett_site, sett_val *, sett_dtype);
static inline sett_val *sett__to(sett_build *b, sett_site site, sett_val *v, sett_dtype dtype) /* CONVERT, if it is another type */
{
    return v->dtype == dtype && !b->error.status ? v : sett__converted(b, site, v, dtype);
}
/* A C number, or a scalar value of that type already, as a value of a type; a number that
 * the type cannot hold is SETT_E_RANGE. func is the public name. */
sett_val *sett__number(sett_build *, sett_site, const char *func, sett_arg, sett_dtype);
/* As sett_const, or a scalar value converted: one element of a type. */
sett_val *sett__element(const sett__ctx *, sett_arg, sett_dtype);
/* The same, where an integer type must hold an integer; a fraction truncates, a float type rounds, also to infinity. */
sett_val *sett__exact_element(const sett__ctx *, sett_arg, sett_dtype);
sett_val *sett__assumed(const sett_val *, int64_t div); /* the same, known to be a multiple of div */
/* ---- wide_int.c, narrow.c: integers of 128 bits, and types that are only stored ------------------ */
sett_val *sett__to_wide(sett_build *, sett_site, sett_val *, sett_dtype); /* a float to an integer of 128 bits, or back */
sett_val *sett__to_narrow(sett_build *, sett_site, sett_val *, sett_dtype); /* narrow.c: of or to a type that is only stored */
/* ---- math.c: one operand ------------------------------------------------------------------------ */
sett_val *sett__unary(sett_build *, sett_site, sett__code, sett_val *); /* one UNARY op */
/* ---- math_binary.c: POW and what follows it ----------------------------------------------------- */
/* Of two operands of one type, which it takes. */
bool sett__expands(sett_binary_op, sett_dtype);
sett_val *sett__expand_binary(const sett__ctx *, sett_binary_op, sett_val *, sett_val *);
/* ---- printf.c: formats -------------------------------------------------------------------------- */
/* A CuTe format as C's, with one conversion an operand that travels: in the arena, and the operands' ops; NULL: the build
 * has failed. n negative: plain text. */
const char *sett__format(
    const sett__ctx *, const char *format, int n, const sett_arg *, uint32_t id[SETT__MAX_PRINT], int *n_id);
/* ---- shape.c: shapes of values ------------------------------------------------------------------ */
/* Gives all (up to 3) one shape: elements repeated where an extent is 1. Scalars and values of one element
 * stay: an op takes them as splats. False: they do not broadcast; the build has failed. */
bool sett__broadcast(const sett__ctx *, sett_val **, int n);
/* ---- sig.c: the signature ----------------------------------------------------------------------- */
/* sett_param; wide: 64-bit offsets, whatever its layout shows. */
sett_tensor *sett__declare_param(const sett__ctx *, const char *name, sett_dtype, const sett_param_args *, bool wide);
/* A struct passed by value: its bytes, (bytes):(1). */
sett_tensor *sett__declare_struct(const sett__ctx *, const char *name, int64_t bytes, int align);
/* struct.c: "knobs.rows", what of a parameter passed by value lies at a byte. */
void sett__field_at(const sett_build *, uint32_t param, int64_t byte, char *buf, size_t size);
/* Byte offset of a new piece of the block's shared window. */
uint32_t sett__smem_alloc(sett_build *, sett_site, const char *func, uint64_t bytes, uint32_t align);
/* The same of bytes that the launch computes, from where those begin; false: the build has failed. */
bool sett__smem_more(const sett__ctx *, sett_arg bytes, uint32_t align, uint32_t step, sett_arg *at); /* at a multiple of step */
/* Turns a dynamic integer (made of symbols, integer scalars and constants only) into a host
 * expression; false: it depends on something that a launch does not know. */
bool sett__to_expr(sett_build *, sett_arg leaf, sett__expr *);
/* As sett__to_expr; false: the build has failed, saying that `what`, and its number i unless that is negative, is not known
 * at launch. */
bool sett__need_expr(const sett__ctx *, const char *what, int i, sett_arg leaf, sett__expr *);
/* An Int32 that the launch computes: what is to be the last of the signature's code. One of the same value is given again. */
sett_val *sett__derived(const sett__ctx *, sett__expr value, const char *name, unsigned number);
/* ---- control.c ----------------------------------------------------------------------------------- */
sett_val *sett__lane_idx(sett_site, sett_build *, const char *func);
const char *sett__opener(int code); /* "sett_for": the public name of what opens a region */
sett_region sett__poisoned_region(sett_build *), sett__open_region(sett_build *, sett_site, const sett__emit *opener);
/* A Boolean or an integer scalar, else the build fails. */
const sett_val *sett__need_scalar(const sett__ctx *, const sett_val *, const char *what, bool boolean);
sett_val *sett__warp_reduce(sett_site, const char *func, sett_val *, sett_binary_op, int width);
bool sett__copies_end(const sett_region *); /* loop.c: is it unrolled in full, without a region? */
void sett__rest_begin(sett_region *); /* loop.c: opens the loop over what rounds of copies left, if there is one */
/* ---- rely.c: what only a launch can confirm ----------------------------------------------------- */
/* What the body relies on, as a launch check, where a launch knows all of it; nothing inside an if, whose arm may never
 * run. The text says what is needed, without the function's name. */
typedef enum sett__demand {
    SETT__DIVIDES,    /* x[0] is a multiple of x[1] */
    SETT__EITHER_WAY, /* x[0] divides x[1], or x[1] x[0] */
    SETT__STEPS,      /* steps of x[0] through an extent of x[1] reach x[2] coordinates, x[3] of them in it */
    SETT__FILLS,      /* x[0] coordinates are a multiple of x[1], or do not pass it */
    SETT__BELOW       /* x[0] < x[1] */
} sett__demand;
/* The code of a rule, where SYM i stands for operand x[i], of n_x up to 4. False: a launch does not know an operand, or the
 * whole is too long. */
bool sett__put_in(sett_build *, const sett__xop *rule, uint32_t n_rule, const sett_arg *x, uint32_t n_x, sett__expr *);
void sett__rely(const sett__ctx *, sett__demand, const sett_arg *x, const char *format, ...) SETT_PRINTF(4, 5);
/* ---- finish.c: from a build to a tape ----------------------------------------------------------- */
/* Orders, drops what is dead, renumbers, fills the signature, verifies. */
sett_status sett__build_finish(sett_build *, sett__tape *, sett_error *);
/* ---- leaf.c: leaves, static or dynamic ---------------------------------------------------------- */
/* Leaf arithmetic of the algebra: static where both are, else recorded. Overflow of
 * 63 bits fails the build. func is the public name for messages. */
struct sett__ctx { sett_build *b; sett_site site; const char *func; };
sett_arg sett__add(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__sub(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__mul(const sett__ctx *, sett_arg, sett_arg);
/* Of what overflowed: the error's text names the mode of the whole that it was computed for. */
void sett__name_mode(const sett__ctx *, int mode, const sett_arg *whole) __attribute__((cold));
#define SETT__OF_MODE(c, r, mode, whole) ((r).kind == SETT_POISON ? sett__name_mode(c, mode, &(whole)) : (void)0)
sett_arg sett__div(const sett__ctx *, sett_arg, sett_arg);     /* floor of non-negatives */
sett_arg sett__rem(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__ceil_div(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__min(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__max(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__xor_shift(const sett__ctx *, sett_arg x, int bits, int base, int shift); /* the swizzle of a number */
/* Fails the build of the context (none: nothing is recorded) and gives POISON. */
sett_arg sett__bad(const sett__ctx *, sett_status, const char *format, ...) SETT_PRINTF(3, 4);
int64_t sett__leaf_div(sett_arg);  /* what is known to divide it: |i| of a static one, 0 for zero */
int64_t sett__gcd(int64_t, int64_t); /* >= 0; of 0 and x: |x| */
bool sett__divides(sett_arg a, sett_arg b); /* a divides b, whatever value b has at run time */
bool sett__is_static(sett_arg);    /* every leaf INT */
static inline bool sett__is_number(sett_arg a) /* static */
{
    return a.kind == SETT_INT && !a.path;
}
static inline bool sett__is_int(sett_arg a, int64_t i) /* and equal */
{
    return sett__is_number(a) && a.u.i == i;
}
/* ---- tuple.c: tuples ---------------------------------------------------------------------------- */
sett_arg *sett__kids(const sett__ctx *, int n);     /* arena room for n children */
sett_arg sett__node(const sett__ctx *, int n, const sett_arg *kid); /* a tuple; SETT_E_LIMIT past 255 */
static inline int sett__arity(sett_arg a)           /* children of a tuple, 1 for a leaf */
{
    return a.kind == SETT_NODE ? a.rank : 1;
}
static inline sett_arg sett__kid(sett_arg a, int i) /* a leaf is its own only child */
{
    return a.kind == SETT_NODE ? a.u.kid[i] : a;
}
bool sett__is_poison(sett_arg);                      /* any leaf */
bool sett__any_slice(sett_arg);                      /* a _ in it; tuple_ops.c */
bool sett__has_basis(sett_arg);                      /* a scaled basis vector */
bool sett__well_formed(sett_arg);                    /* children that are there, not nested too deep */
bool sett__congruent(sett_arg, sett_arg);            /* the same profile */
bool sett__weakly_congruent(sett_arg, sett_arg);     /* a's profile is a prefix of b's */
int sett__leaves(sett_arg);
int sett__flat(sett_arg, sett_arg *out);             /* leaves in order; out has room for sett__leaves() */
sett_arg sett__flatten(const sett__ctx *, sett_arg); /* a leaf stays one */
sett_arg sett__product(const sett__ctx *, sett_arg);
sett_arg sett__product_each(const sett__ctx *, sett_arg);
sett_arg sett__sum(const sett__ctx *, sett_arg, sett_arg); /* of numbers or of coordinates */
sett_arg sett__idx2crd(const sett__ctx *, sett_arg idx, sett_arg shape);
sett_arg sett__ceil_div_tuple(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__round_up_tuple(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__shape_div(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__append(const sett__ctx *, sett_arg, sett_arg); /* one more mode; a leaf becomes a tuple */
/* The children of x where crd is (slice) or is not (dice) `_`, nested tuples joined. */
sett_arg sett__sieve(const sett__ctx *, sett_arg crd, sett_arg x, bool keep_slices);
/* Compact strides, in colexicographic order, from `start`; *next (if any) is what follows. */
sett_arg sett__compact(const sett__ctx *, sett_arg shape, sett_arg start, sett_arg *next);
/* idx = <coord, stride> through the profile; basis strides give an arithmetic tuple. */
sett_arg sett__crd2idx(const sett__ctx *, sett_arg coord, sett_arg shape, sett_arg stride);
/* ---- tuple_ops.c -------------------------------------------------------------------------------- */
sett_arg sett__find(const sett__ctx *, sett_arg x, sett_test_fn *, void *user); /* as sett_find_if */
/* ---- layout.c ----------------------------------------------------------------------------------- */
sett_layout *sett__layout(sett_build *, sett_arg shape, sett_arg stride); /* keeps the tuples; no checks */
sett_arg sett__layout_at(const sett__ctx *, const sett_layout *, sett_arg coord); /* evaluates, swizzle and offset too */
/* Like sett__layout, but the tuples are in the arena already; poison if a leaf is. */
sett_layout *sett__own(const sett__ctx *, sett_arg shape, sett_arg stride);
/* The same swizzle or inner layout around another outer one. */
sett_layout *sett__rewrap(const sett__ctx *, const sett_layout *like, const sett_layout *outer);
sett_layout *sett__poison_layout(const sett_build *);
bool sett__layout_poison(const sett_layout *);
bool sett__check_shape(const sett__ctx *, sett_arg); /* positive extents, or dynamic ones; else fails the build */
/* Makers on checked arguments; a stride of `_` is compact. */
sett_layout *sett__make(const sett__ctx *, sett_arg shape, sett_arg stride);
sett_layout *sett__ordered(const sett__ctx *, sett_arg shape, sett_arg order);
/* One mode of a plain shape:stride, and several joined. */
sett_layout *sett__mode(const sett__ctx *, const sett_layout *, int i);
sett_layout *sett__join(const sett__ctx *, int n, sett_layout *const *);
/* ---- modes.c: parts of tuples and layouts ------------------------------------------------------- */
sett_arg sett__select(const sett__ctx *, sett_arg x, sett_arg modes);
sett_arg sett__group(const sett__ctx *, sett_arg x, int begin, int end);
/* ---- coalesce.c --------------------------------------------------------------------------------- */
typedef struct sett__mode_list { /* leaves of a layout, innermost mode first */
    sett_arg (*m)[2];            /* extent, stride */
    int n, cap;
    sett_arg small[16][2];
} sett__mode_list;
static inline void sett__no_modes(sett__mode_list *l)
{
    l->m = l->small, l->n = 0, l->cap = (int)SETT__COUNT(l->small);
}
void sett__push(const sett__ctx *, sett__mode_list *, sett_arg extent, sett_arg stride);
/* The coalesced leaves; open keeps the stride of a last mode of extent 1, for coordinates past it. */
void sett__coalesced(const sett__ctx *, sett__mode_list *, sett_arg shape, sett_arg stride, bool open);
sett_layout *sett__from_modes(const sett__ctx *, const sett__mode_list *); /* one mode: a leaf; none: 1:0 */
sett_layout *sett__coalesce(const sett__ctx *, const sett_layout *);
sett_layout *sett__filter(const sett__ctx *, const sett_layout *);
/* ---- composition.c ------------------------------------------------------------------------------ */
sett_layout *sett__by_mode(const sett__ctx *, const sett_layout *, sett_arg tiler,
    sett_layout *(*)(const sett__ctx *, const sett_layout *, sett_arg), bool keep); /* keep: the modes past the tiler */
/* Why the composition of static layouts is refused, as a word; NULL: it is not, or that is not known. */
const char *sett__refusal(const sett__ctx *, const sett_layout *, const sett_layout *, bool strict);
/* With the rest of a divide, which may be rounded up. */
sett_layout *sett__compose_rest(const sett__ctx *, const sett_layout *, const sett_layout *);
sett_layout *sett__tiler_layout(const sett__ctx *, sett_arg, int stride_of_one); /* a layout itself; n as n:1 */
sett_layout *sett__compose(const sett__ctx *, const sett_layout *, sett_arg rhs); /* rhs: layout, tiler or shape */
/* ---- complement.c ------------------------------------------------------------------------------- */
sett_layout *sett__complement(const sett__ctx *, const sett_layout *, sett_arg cotarget);
sett_layout *sett__open_complement(const sett__ctx *, const sett_layout *); /* without an end */
void sett__sort_modes(sett__mode_list *); /* by static strides */
/* One layout a coordinate that the strides point into, in the coordinates' profile; of plain numbers one. NULL: f gave
 * none, or a coordinate is used as a number and as a tuple. */
typedef sett_layout *sett__coordinate_fn(const sett__ctx *, const sett__mode_list *, uint32_t path);
sett_layout *sett__by_coordinate(const sett__ctx *, const sett__mode_list *, sett__coordinate_fn *);
sett_layout *sett__bad_layout(const sett__ctx *, sett_status, const char *text, const sett_layout *);
/* ---- inverse.c ---------------------------------------------------------------------------------- */
sett_layout *sett__right_inverse(const sett__ctx *, const sett_layout *);
/* ---- divide.c ----------------------------------------------------------------------------------- */
sett_layout *sett__logical_divide(const sett__ctx *, const sett_layout *, sett_arg tiler);
sett_layout *sett__zip_tiles(const sett__ctx *, const sett_layout *, sett_arg tiler); /* ((a,b),(c,d)) to ((a,c),(b,d)) */
/* A public divide or product: f's, its pairs zipped to (tiles,rest), then opened to (tiles,r0,r1,...) or (t0,t1,...,r0,...). */
typedef enum sett__tile_form { SETT__LOGICAL, SETT__ZIPPED, SETT__TILED, SETT__FLAT } sett__tile_form;
typedef sett_layout *sett__tile_fn(const sett__ctx *, const sett_layout *, sett_arg tiler);
sett_layout *sett__tiled(sett_site, const char *name, const sett_layout *, sett_arg tiler, sett__tile_fn *, sett__tile_form);
/* ---- product.c ---------------------------------------------------------------------------------- */
sett_layout *sett__logical_product(const sett__ctx *, const sett_layout *, sett_arg tiler);
/* ---- layout_text.c: notation -------------------------------------------------------------------- */
/* CuTe text into a buffer, snprintf-like: "(4,(?{div=8},_))", layouts, tilers. */
int sett__arg_str(sett_arg, char *buf, size_t size);
int sett__layout_str(const sett_layout *, char *buf, size_t size);
const char *sett__arg_text(sett_build *, sett_arg); /* in the arena, for messages: names of symbols in place of `?` */
const char *sett__layout_text(sett_build *, const sett_layout *);
/* A layout, tuple or tiler. The hook reads what begins with `?` and moves on behind it. */
typedef bool sett__dynamic_fn(void *user, const char **at, sett_arg *leaf);
sett_arg sett__parse(const sett__ctx *, const char *text, sett__dynamic_fn *, void *user);

/* ---- tensor.c, tensor_make.c -------------------------------------------------------------------------------------- */
sett_tensor *sett__slice(const sett__ctx *, const sett_tensor *, sett_arg coord);
sett_tensor *sett__rmem_tensor(const sett__ctx *, sett_dtype, sett_layout *, const char *name);
/* The tensor of a parameter, which sett_param_at returns: records its root. Strides of a wide one become 64-bit. */
sett_tensor *sett__param_tensor(const sett__ctx *, const char *name, sett_dtype, int param, sett_layout *, uint32_t align);
bool sett__check_element(const sett__ctx *, sett_dtype); /* may a tensor in memory have it? Else fails the build */
const char *sett__tensor_text(sett_build *, const sett_tensor *); /* in the arena, for messages: "A (?,8):(8,1)" */
sett_arg sett__widen(const sett__ctx *, sett_arg);       /* dynamic leaves as Int64 */
/* a without the non-negative constants that were added last, and their sum. Of a static one: 0 and itself. */
sett_arg sett__peel(sett_build *, sett_arg a, int64_t *constant);
/* Sum of two offsets, leaves or arithmetic tuples; constants on top, for sett__peel. POISON on failure. */
sett_arg sett__add_offset(const sett__ctx *, sett_arg, sett_arg);
/* Elements from the root to the element at coord (checked: profile, integers, range); false: the build has failed. */
bool sett__element_offset(const sett__ctx *, const sett_tensor *, sett_arg coord, sett_arg *out);

/* ---- vector.c: where the elements of a view lie, and how wide an access may be ------------------------------------ */
typedef struct sett__axis { int64_t extent; sett_arg stride; } sett__axis;
typedef struct sett__axes { int n; int64_t size; sett__axis *mode; } sett__axes; /* flat, of a static shape */
/* False: the build has failed, with SETT_E_STATIC naming the mode. */
bool sett__axes_of(const sett__ctx *, sett_arg shape, sett_arg stride, sett__axes *);
/* Element i, colexicographic, lies at base[group[i]] + imm[i]. A group is one combination of coordinates that
 * dynamic strides multiply; its base is a value, or 0. */
typedef struct sett__places { uint32_t n, n_group, *group; sett_arg *base; int64_t *imm; } sett__places;
bool sett__places_of(const sett__ctx *, const sett__axes *, sett_arg origin, sett__places *);
bool sett__tensor_places(const sett__ctx *, const sett_tensor *, sett__places *); /* offsets from the root */
/* Elements in order of place, of each group layer by layer: in one, a place has elements of one kind. A layer's places
 * are among those of the layer below. */
typedef struct sett__spot { uint32_t group, elem, kind, layer; int64_t imm; } sett__spot;
sett__spot *sett__spots(const sett__ctx *, const sett__places *, const uint32_t *kind_or_null);
/* Do n elements of `bytes` at base + imm lie in the tensor's memory, as far as a build can know? Else it fails. */
bool sett__inside(const sett__ctx *, const sett_tensor *, sett_arg base, int64_t imm, uint32_t n, uint32_t bytes);
/* The power of two that base + imm elements from the root is known to be a multiple of, in bytes. */
uint32_t sett__align_at(const sett_tensor *, uint32_t bytes, sett_arg base, int64_t imm);
/* The largest width, a power of two up to n, that some value of base makes aligned. */
uint32_t sett__width_hope(const sett_tensor *, uint32_t bytes, sett_arg base, int64_t imm, uint32_t n);

/* ---- pred.c ------------------------------------------------------------------------------------------------------ */
/* A Boolean that sett_elem_less made is lazy (id is SETT__NONE): recorded here as a value of its shape, once.
 * Any other value is given back. Whoever reads val->id calls it first; it never gives NULL. */
const sett_val *sett__materialise(sett_site, const sett_val *);
/* Of elements `elem` of a lazy predicate: are they all inside or all outside, whatever the coordinates? And the
 * Boolean ops "all inside" and "one of them inside", which may be known: SETT__TRUE, SETT__FALSE. */
#define SETT__TRUE (SETT__NONE - 1)
#define SETT__FALSE (SETT__NONE - 2)
bool sett__pred_alike(const sett__ctx *, const struct sett__pred *, const uint32_t *elem, uint32_t n);
uint32_t sett__pred_all(const sett__ctx *, const struct sett__pred *, const uint32_t *elem, uint32_t n, bool stay);
uint32_t sett__pred_any(const sett__ctx *, const struct sett__pred *, const uint32_t *elem, uint32_t n, bool stay);
/* sett_and of a lazy predicate and a scalar, or another one of its shape: lazy too. NULL: these are others. */
sett_val *sett__pred_and(const sett__ctx *, sett_arg, sett_arg);
uint32_t sett__and(const sett__ctx *, uint32_t x, uint32_t y, bool stay); /* of Boolean ops or SETT__TRUE, SETT__FALSE */
uint32_t sett__or(const sett__ctx *, uint32_t x, uint32_t y, bool stay);

/* ---- access.c, copy.c ------------------------------------------------------------------------------------------- */
/* One load or store of a whole view. Loads: val NULL; stores: fill unused. pred may be NULL. shape: what pred broadcasts over (the tensor's where it is absent: NULL). */
typedef struct sett__move {
    const sett_tensor *t;
    const sett_val *val, *pred;
    const sett_arg *shape;
    double fill;
    const sett__places *bytes; /* packed.c: of bytes, in place of t's elements; and, of each, which of t's elements (or NULL) */
    const uint32_t *which;     /* has its predicate */
    uint32_t elements;
    uint8_t cache; /* a sett_cache */
    uint8_t atomic, flags; /* not 0: of ATOM what it does, and in which order and scope. It has a value, and gives one */
    const sett_val *was;   /* of CAS */
} sett__move;
bool sett__reached(const sett__ctx *, const sett_tensor *, bool written); /* of none of coordinates: is it memory that can be? */
uint32_t sett__access(const sett__ctx *, const sett__move *); /* the loaded op; of a store, or after a failure, 0 */
/* ---- packed.c: elements narrower than a byte, but no Booleans */
bool sett__is_packed(const sett_tensor *);
uint64_t sett__packed_bytes(sett_dtype, uint64_t n); /* of n elements of any type, in whole units */
uint32_t sett__packed_access(const sett__ctx *, const sett__move *, const sett__places *); /* as sett__access; of elements at places */
/* Which element of a predicate each of n elements of a shape looks at; NULL: it does not broadcast, and the build has failed. */
uint32_t *sett__pred_map(const sett__ctx *, uint32_t n, sett_arg shape, const sett_val *pred);
bool sett__check_copy(const sett__ctx *, const sett_tensor *src, const sett_tensor *dst); /* copy.c: as many elements, of types that go */
const sett_val *sett__stored(const sett__ctx *, const sett_tensor *, const sett_val *); /* as t's type; NULL: failed */
const sett_val *sett__stored_arg(const sett__ctx *, const sett_tensor *, sett_arg); /* a number is a scalar of t's type */
bool sett__same_elements(sett_arg shape, sett_arg other); /* static, the same extents in the same order */
sett_val *sett__get(const sett__ctx *, const sett_tensor *, sett_arg coord);
void sett__set(const sett__ctx *, const sett_tensor *, sett_arg val, sett_arg coord);
sett_val *sett__dynamic_element(const sett__ctx *, const sett_val *, sett_arg coord); /* gather.c: of a value, by values */

/* ---- report.c: what the layouts decided ------------------------------------------------------------------------ */
enum { SETT__LOST_NOTHING, SETT__LOST_ADJACENCY, SETT__LOST_ROOT, SETT__LOST_CONSTANT, SETT__LOST_BASE, SETT__LOST_BOUND,
    SETT__LOST_PRED, SETT__LOST_RMEM, SETT__EMPTY_BRANCH /* no access: an arm of an if that records nothing */ };
typedef struct sett__note {
    struct sett__note *older;
    const char *func;
    const sett_tensor *t;
    uint32_t site, call;   /* in b->site; which of its line's, as sett_site has it */
    uint32_t count[32];    /* accesses of 2^k bytes; in split ones of the wide arm */
    uint32_t split;        /* of them wide only if a test at run time allows */
    uint32_t have, need;   /* bytes, of the first access that lost width */
    uint8_t lost, bytes;   /* SETT__LOST_*; of an element */
    uint32_t places;       /* a load of fewer places than elements, by a stride of 0: how many; else 0 */
    uint32_t elements;     /* then */
    bool element;          /* of sett__note_element */
    sett_arg base;         /* LOST_BASE: its offset */
    int64_t imm;           /* LOST_CONSTANT: the constant */
} sett__note;
void sett__note_add(const sett__ctx *, sett__note *); /* copies; fills site and func */
uint32_t sett__note_element(const sett__ctx *, const sett_tensor *, uint32_t bytes); /* of one element that lost nothing; its site */
/* access.c: the first access that is `have` elements of `bytes` wide where `need` would do, for the alignment of base + imm. */
void sett__note_lost(sett__note *, const sett_tensor *, sett_arg base, int64_t imm, uint32_t bytes, uint32_t have, uint32_t need);
/* One line an access: its widths, and what lost some; in order of recording, NUL-ended, in the arena; "" for
 * none. Valid until the build ends. Without memory the build fails, and lines may be missing. */
const char *sett__report_text(sett_build *);

/* ---- the plug-in: what libsett-ptx.so gives jit/ ------------------------------------- */
/* Raised by every change that can alter the code of a kernel: it is in every key. A test
 * hashes the sources that decide and fails when the id was not raised. */
#define SETT__CODEGEN_ID "0.1.0-16"
#define SETT__PLUGIN_ABI 4
#define SETT__PLUGIN_SYMBOL "sett_ptx_plugin"
#define SETT__PLUGIN_DEAD "the compiler failed earlier in this process and is not used again: %.400s"
typedef struct sett__ptx_job {
    const void *tape; /* canonical bytes, with sites when line_info */
    size_t tape_len;
    const char *target, *name; /* "sm_90a"; the kernel's symbol in the PTX */
    bool line_info, keep_ir;
    /* LLVM failed in a way that it cannot return from (SETT_E_COMPILE, or SETT_E_MEMORY): called once on the compiling
     * thread with the text, which then never returns. The plug-in is dead after it. */
    void (*fatal)(void *user, sett_status, const char *text);
    void *user;
    const char *provoke; /* tests: "fatal" makes LLVM report one */
} sett__ptx_job;
typedef struct sett__ptx_out {
    char *ptx, *ir; /* NUL-ended, malloc'ed by the plug-in, freed by its release */
    size_t ptx_len;
    int codegen_level; /* 2, or 0 for very long straight-line code */
} sett__ptx_out;
typedef struct sett__ptx_plugin {
    size_t size;
    int abi;
    const char *codegen_id, *llvm_version;
    sett_status (*compile)(const sett__ptx_job *, sett__ptx_out *, sett_error *); /* any thread with 8 MiB of stack */
    void (*release)(sett__ptx_out *);
    const char *(*failed)(void); /* LLVM's last words in this process, for all engines in it; NULL: it lives */
} sett__ptx_plugin;
typedef const sett__ptx_plugin *(*sett__ptx_plugin_fn)(void);

/* ---- the remote tier of the cache: remote/ defines it, jit/cache/remote.c opens it ---------------------- */
/* Everything that speaks to a server is in libsett-remote.so. It moves bytes and believes nothing: what an entry must be
 * is the cache's to check. All calls may come from many threads at once. */
#define SETT__REMOTE_ABI 3
#define SETT__REMOTE_SYMBOL "sett_remote_plugin"
typedef struct sett__remote sett__remote; /* one server, with its connections and its circuit breaker */
typedef struct sett__remote_host { /* what it takes from whoever opens it */
    void (*sha256)(const void *, size_t, uint8_t sum[32]);
} sett__remote_host;
typedef struct sett__remote_facts { /* what was said of it; strings live as long as it does */
    const char *shown;  /* its URL, without user and password */
    const char *secret; /* path; NULL: none was named */
    bool trusted, read_only;
} sett__remote_facts;
typedef struct sett__remote_plugin {
    size_t size;
    int abi;
    /* text: as sett_engine_options.cache_remote; malformed: SETT_E_ARGUMENT. Connects to nothing yet. */
    sett_status (*open)(sett__remote **, const char *text, const sett__remote_host *, sett__remote_facts *, sett_error *);
    void (*close)(sett__remote *); /* no other call is under way */
    /* name: 64 hexadecimal digits. One request a name at a time: who asks for one that is being fetched is given a copy.
     * *data is malloc'ed. SETT_E_NOT_CACHED: the server has none; SETT_E_CANCELLED: it is left alone and was not asked;
     * SETT_E_LIMIT: longer than is allowed; SETT_E_IO: anything else; SETT_E_MEMORY. */
    sett_status (*get)(sett__remote *, const char *name, void **data, size_t *len, sett_error *);
    /* What get gave, so many bytes of it, is of no use: the next put replaces it. */
    void (*refuse)(sett__remote *, const char *name, size_t len);
    /* sent: false if the server had one already, which stays unless it was refused. Failures as above. */
    sett_status (*put)(sett__remote *, const char *name, const void *data, size_t len, bool *sent, sett_error *);
    sett_status (*probe)(sett__remote *, sett_error *); /* does it answer? Asked also when it is left alone */
    bool (*off)(sett__remote *); /* is it left alone? */
} sett__remote_plugin;
typedef const sett__remote_plugin *(*sett__remote_plugin_fn)(void);

#endif
