/* SPDX-License-Identifier: Apache-2.0 */
/* A build records operations in a growing list. After the body has returned, sett__build_finish() orders the live ones into a
 * tape, which holds no pointer into the build. */
#ifndef SETT_LIB_BUILD_H
#define SETT_LIB_BUILD_H
#include "objects.h"
#include "notes.h"
#include <sett/build.h>

/* ---- build.c: a build and its objects ----------------------------------------------------------- */
/* Starts a build. mem NULL: malloc. in_kernel: for a body. NULL: out of memory. sett_build_end frees it. */
sett_build *sett__build_new(const sett__allocator *mem, bool in_kernel);
/* Ends a build, and gives a new one that reuses its arrays, so that recording does not fault their pages in again. Its objects
 * and their addresses are gone. The new build is not open. NULL: the old one held more than SETT__KEPT bytes, or memory ran
 * out. */
sett_build *sett__build_again(sett_build *);
void sett__build_open(sett_build *); /* this thread now records in it; builds of sett__build_new are open already */
#define SETT__KEPT ((size_t)64 << 20) /* as much as glibc's malloc keeps */
/* Fails the build with a message, unless it has failed before. "file:line: func: " is put in front; site may have file NULL
 * (unknown caller). Returns the build's poison. */
void sett__fail(sett_build *, sett_site, const char *func, sett_status, const char *format, ...) SETT_PRINTF(5, 6);
/* Fails and returns `ret` when cond holds; func is the public name. */
#define SETT__FAIL_IF(b, site, func, cond, ret, status, ...) \
    do { \
        if (cond) { \
            sett__fail(b, site, func, status, __VA_ARGS__); \
            return ret; \
        } \
    } while (0)
/* Zeroed arena memory, never NULL up to SETT__RESERVE bytes: if memory runs out the build fails, and gives memory of its
 * reserve, so that the caller can finish without a check. */
#define SETT__RESERVE 65536
void *sett__new(sett_build *, size_t);
void *sett__new_object(sett_build *, sett__kind, size_t);
static inline sett__head sett__head_of(sett_build *b, sett__kind kind)
{
    return (sett__head){.b = b, .stamp = b->stamp, .kind = kind.id};
}
/* False if x is poison, or belongs to another build than b (NULL: x's own) or to an ended one. The error goes to a build that
 * can keep it. */
bool sett__use_val(sett_build *, sett_site, const char *func, const sett_val *);
bool sett__visible(const sett_val *);                  /* is the region that it was made in open? */
/* The common case of the checks below: an object of b that may be used here. For all others sett__use_val and its like tell why
 * not. */
static inline bool sett__fine(const sett_build *b, const sett__head *x, sett__kind kind)
{
    return sett__owner(x) == b && x->stamp == b->stamp && x->kind == kind.id && !x->poison && !b->error.status && !b->ended;
}
static inline bool sett__fine_val(const sett_build *b, const sett_val *v)
{
    if (!sett__fine(b, (const sett__head *)(const void *)v, SETT__K_VAL) || (v->depth && !sett__visible(v)))
        return false;
    ((sett_val *)(uintptr_t)v)->used = true;
    return true;
}
bool sett__use_layout(sett_build *, sett_site, const char *func, const sett_layout *);
bool sett__use_tensor(sett_build *, sett_site, const char *func, const sett_tensor *);
bool sett__use_object(sett_build *, sett_site, const char *func, const sett__head *, sett__kind); /* of the others: its head alone */
/* The reason of a POISON that a call of constants alone gave, which has no build to fail: its sett_arg.reserved. */
enum { SETT__FROM_TUPLE = UINT16_MAX, SETT__FROM_TOO_LARGE = 1, SETT__FROM_CEIL_DIV, SETT__FROM_ROUND_UP,
    SETT__FROM_SHAPE_DIV, SETT__FROM_BASIS, SETT__FROM_BINARY /* and the sett_binary_op */ };
bool sett__use_arg(sett_build *, sett_site, const char *func, sett_arg); /* every leaf of it */
/* Copies a struct of arguments that begins with its size; an older caller's may be shorter than ours. False: it is NULL, or has
 * no size. */
bool sett__take_args(const sett__ctx *, void *to, size_t size, const void *from);
/* The build that a public call was given; every call that takes one calls this first. NULL: it was given NULL, or a build that
 * has ended, which fails the build that this thread opened last. */
sett_build *sett__given_ended(sett_build *, sett_site, const char *func) __attribute__((cold));
static inline sett_build *sett__given(sett_build *b, sett_site site, const char *func)
{
    return sett__owner(b) == b ? b : sett__given_ended(b, site, func);
}
/* The build of an object. If that build has ended, the build that this thread opened last, which is then to fail. NULL: there
 * is none, or the object is NULL. */
sett_build *sett__failing(const void *object) __attribute__((cold));
static inline sett_build *sett__home(const void *object)
{
    sett_build *b = sett__owner(object);
    return b ? b : sett__failing(object);
}
/* The build of the first of two objects whose build has not ended. */
#define SETT__HOME_OR(object, other) (sett__owner(object) ? sett__owner(object) : sett__first_home(other, object))
static inline sett_build *sett__first_home(sett_build *b, const void *object)
{
    return b ? b : sett__failing(object);
}
static inline sett_val *sett__poison_val(const sett_build *b)
{
    return b ? &b->poison->val : NULL;
}
static inline sett_val *sett__poison_val_of(const void *object)
{
    return sett__poison_val(sett__home(object));
}
static inline sett_arg sett__poison_arg(sett_build *b)
{
    return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = b}};
}
/* The build of the first object in an argument; NULL: the argument is all static. */
sett_build *sett__build_below(sett_arg);
static inline sett_build *sett__build_of(sett_arg a)
{
    return a.kind == SETT_VALUE && a.u.v ? sett__home(a.u.v) : sett__build_below(a);
}
/* For calls that read an object even if its build has failed. False: the object is NULL, or its build has ended, which fails
 * the build that this thread opened last. Of an argument, all of its objects are checked. */
bool sett__lives(const char *func, const void *object, sett__kind kind);
bool sett__arg_lives(sett_site, const char *func, sett_arg);
uint32_t sett__intern(sett_build *, const char *); /* index in string */
uint32_t sett__site(sett_build *, sett_site);
/* ---- slot.c: what a room above keeps in a build ------------------------------------------------- */
/* A room defines a slot, and keeps there what this room need not know. */
typedef struct sett__build_slot {
    size_t size;
    void (*ends)(sett_build *, const void *); /* is called when the body has ended, and may fail the build; NULL: no call */
} sett__build_slot;
/* The slot's memory, zeroed at first use. Where the build has failed, nothing may be kept in it. */
void *sett__in_slot(sett_build *, const sett__build_slot *);
const void *sett__seen_in_slot(const sett_build *, const sett__build_slot *); /* NULL: it was not used yet */
void sett__end_slots(sett_build *);
/* ---- record.c: recording one op ------------------------------------------------------------------- */
/* Records one op: folds it, merges it with an equal visible one, hoists pure integer scalars to the outermost region where
 * their operands are visible. Returns its index. */
typedef struct sett__emit {
    sett__code code;
    sett_dtype dtype;
    uint8_t sub, n_attrs;
    uint32_t n;
    int64_t imm;
    int n_args;
    const uint32_t *args;
    const int32_t *attrs; /* those at the end that are usual may be given */
    uint32_t at; /* 1 + the site's index in the build's list, if that is known; else 0 */
    bool stay; /* a scalar integer or Boolean that only this region needs: it is not hoisted */
} sett__emit;
uint32_t sett__record(sett_build *, sett_site, const sett__emit *);
extern const int32_t sett__nonneg[1]; /* the attributes of a division of what is known to be >= 0 */
bool sett__in_kernel(sett_build *, sett_site, const char *func); /* else the build fails; NULL: false */
sett_val *sett__val(sett_build *, uint32_t id, sett_arg shape, bool scalar); /* the value object of an op */
sett_val *sett__scalar_val(sett_build *, uint32_t id);                       /* the same, of an op that gives a scalar */
void sett__settle(sett_val *);           /* marks the value as made in this region */
sett_val *sett__const_bits(sett_build *, sett_site, sett_dtype, uint64_t bits);
/* The same, as a value that lives in *room */
sett_val *sett__const_in(sett_build *, sett_site, sett_dtype, uint64_t bits, sett_val *room);
bool sett__val_const(const sett_val *, uint64_t *bits); /* is it a CONST, even if folding is off? */
bool sett__same_shape(sett_arg, sett_arg); /* static tuples that print the same */
/* result[i] = from[idx[i]]; looks through PACK and PICK. */
uint32_t sett__pick(sett_build *, sett_site, uint32_t from, const uint32_t *idx, uint32_t n);
uint32_t sett__splat(sett_build *, sett_site, uint32_t scalar, uint32_t n); /* a PICK of element 0, n times */
/* ---- fold.c: what an op folds to ---------------------------------------------------------------- */
/* The existing op that an op folds to: its index, or SETT__NONE. May rewrite the op. *in: what it found out about the two
 * operands of an integer op, so that sett__facts need not look again; NULL: nothing. */
typedef struct sett__known { int64_t lo, hi, div; sett_dtype dtype; } sett__known; /* ranges.c */
typedef struct sett__operands { sett__known room[2]; const sett__known *in[2]; } sett__operands;
uint32_t sett__fold(sett_build *, sett_site, sett__emit *, uint32_t *args, sett__operands *);
/* ---- ranges.c: what is known of integers -------------------------------------------------------- */
/* One elementwise op on operands of one type, already converted; an operand of one element is a
 * splat. Knows more of the result than sett__val(sett__record()): what sett_assume promised. */
sett_val *sett__op2(sett_build *, sett_site, sett__code, bool nonneg, sett_val *, sett_val *);
sett_val *sett__op2_at(sett_build *, sett_site, uint32_t at, sett__code, bool nonneg, sett_val *, sett_val *); /* at: as in sett__emit */
void sett__facts(sett_build *, sett_val *, const sett__operands *);
/* The same of a scalar integer or Boolean op. Constants, which are most operands, need no value object for it. */
sett__known sett__know_op(sett_build *, uint32_t op); /* of one that has no value object yet */
static inline sett__known sett__know(sett_build *b, uint32_t op)
{
    const sett_val *v = b->val_of[op];
    return v ? (sett__known){v->lo, v->hi, v->div, (sett_dtype)v->dtype} : sett__know_op(b, op);
}
/* Range of an integer type; U64: all of int64, which means unknown. */
void sett__dtype_range(sett_dtype, int64_t *lo, int64_t *hi);
bool sett__no_wrap(sett_build *, uint32_t op); /* ADD SUB MUL of scalar integers: do the ranges prove that it does not wrap? */
/* ---- promise.c: conditions that only a launch can check ---------------------------------------------- */
/* Records a condition of the body as a check of each launch, if a launch knows all of it. Nothing inside of an if, whose arm
 * may never run. The text says what is needed, without the function's name. */
typedef enum sett__demand {
    SETT__DIVIDES,    /* x[0] is a multiple of x[1] */
    SETT__EITHER_WAY, /* x[0] divides x[1], or x[1] x[0] */
    SETT__STEPS,      /* steps of x[0] through an extent of x[1] reach x[2] coordinates, and x[3] of them lie in the extent */
    SETT__FILLS,      /* x[0] coordinates are a multiple of x[1], or are at most x[1] */
    SETT__BELOW       /* x[0] < x[1] */
} sett__demand;
/* Puts the code of a rule, in which SYM i stands for operand x[i], into the signature; n_x is at most 4. False: a launch does
 * not know an operand, or the result is too long. */
bool sett__put_in(sett_build *, const sett__xop *rule, uint32_t n_rule, const sett_arg *x, uint32_t n_x, sett__expr *);
void sett__rely(const sett__ctx *, sett__demand, const sett_arg *x, const char *format, ...) SETT_PRINTF(4, 5);
/* ---- finish.c: from a build to a tape ----------------------------------------------------------- */
/* Orders the ops, drops dead ones, renumbers, fills the signature, verifies. */
sett_status sett__build_finish(sett_build *, sett__tape *, sett_error *);

/* ---- open builds ---------------------------------------------------------------------------- */
void sett__space_open(sett__address_space *, sett_build *);
void sett__space_shut(sett__address_space *, sett_build *);
sett_build *sett__space_newest(sett__address_space *); /* the build that this thread opened last and has not shut; NULL: none */

/* ---- arg.c: trees of leaves ------------------------------------------------------------------- */
/* Gives POISON, and fails the context's build, if it has one. */
sett_arg sett__bad(const sett__ctx *, sett_status, const char *format, ...) SETT_PRINTF(3, 4);
bool sett__is_static(sett_arg);    /* every leaf INT */
static inline bool sett__is_number(sett_arg a) /* static */
{
    return a.kind == SETT_INT && !a.path;
}
static inline bool sett__is_int(sett_arg a, int64_t i) /* static, and equal to i */
{
    return sett__is_number(a) && a.u.i == i;
}
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
bool sett__is_poison(sett_arg);                      /* is any leaf? */
bool sett__well_formed(sett_arg);                    /* all children are there, and it does not nest too deep */

/* ---- host_expr.c: symbols, and what a launch computes of them --------------------------------- */
/* The host expression of a dynamic integer that is made of symbols, integer scalars and constants. False: it is not. */
bool sett__to_expr(sett_build *, sett_arg leaf, sett__expr *);
/* The same; false: the build has failed, because `what` (and its number i, unless that is negative) is not known at launch. */
bool sett__need_expr(const sett__ctx *, const char *what, int i, sett_arg leaf, sett__expr *);
/* An Int32 that the launch computes. value must be the last of the signature's code. An equal one is given again. */
sett_val *sett__derived(const sett__ctx *, sett__expr value, const char *name, unsigned number);
bool sett__grow_in(sett_build *, void **data, uint32_t *cap, uint32_t need, size_t item); /* false: the build has failed */
/* new_name: is it a name for a parameter or a symbol, and free? Else the build fails. keep_name: a copy that the tape keeps. */
bool sett__new_name(const sett__ctx *, const char *);
bool sett__name_taken(const sett_build *, const char *); /* by a parameter, a symbol or a map */
const char *sett__keep_name(sett_build *, const char *);
bool sett__has_room(const sett__ctx *, uint32_t n); /* room for one parameter or symbol after n; else the build fails */
bool sett__recording(const sett__ctx *); /* has the build neither failed nor ended? */

/* ---- regions ------------------------------------------------------------------------------- */
const char *sett__opener(int code); /* "sett_for": the public call that opens such a region */

/* ---- field.c ------------------------------------------------------------------------------- */
/* "knobs.rows": the field of a parameter by value at a byte. */
void sett__field_at(const sett_build *, uint32_t param, int64_t byte, char *buf, size_t size);
int64_t sett__field_size(const sett_field *); /* bytes of one of its elements */

#endif
