/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples and layouts: the shape:stride algebra. Static leaves are computed, dynamic ones recorded as integer operations. */
#ifndef SETT_LIB_LAYOUT_H
#define SETT_LIB_LAYOUT_H
#include "lib/build/build.h"
#include <sett/layout.h>

/* ---- leaf.c: leaves, static or dynamic ---------------------------------------------------------- */
/* Arithmetic on leaves: static if both are, else recorded. Overflow of 63 bits fails the build. c->func is the public name in
 * messages. */
sett_arg sett__add(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__sub(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__mul(const sett__ctx *, sett_arg, sett_arg);
/* Adds to an overflow's message the mode of the tuple that it was computed for. */
void sett__name_mode(const sett__ctx *, int mode, const sett_arg *whole) __attribute__((cold));
#define SETT__OF_MODE(c, r, mode, whole) ((r).kind == SETT_POISON ? sett__name_mode(c, mode, &(whole)) : (void)0)
sett_arg sett__div(const sett__ctx *, sett_arg, sett_arg);     /* rounds down; operands are not negative */
sett_arg sett__rem(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__ceil_div(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__min(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__max(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__xor_shift(const sett__ctx *, sett_arg x, int bits, int base, int shift); /* the swizzle of a number */
int64_t sett__leaf_div(sett_arg);  /* its known divisor: |i| of a static leaf, 0 of zero */
bool sett__divides(sett_arg a, sett_arg b); /* does a divide b, whatever b's value at run time? */
/* ---- tuple.c: tuples ---------------------------------------------------------------------------- */
bool sett__any_slice(sett_arg);                      /* does it have a `_`? tuple_ops.c */
bool sett__has_basis(sett_arg);                      /* does it have a scaled basis vector? */
bool sett__congruent(sett_arg, sett_arg);            /* the same profile */
bool sett__weakly_congruent(sett_arg, sett_arg);     /* a's profile is a prefix of b's */
int sett__leaves(sett_arg);
int sett__flat(sett_arg, sett_arg *out);             /* leaves in order; out has room for sett__leaves() */
sett_arg sett__flatten(const sett__ctx *, sett_arg); /* a leaf stays a leaf */
sett_arg sett__product(const sett__ctx *, sett_arg);
sett_arg sett__product_each(const sett__ctx *, sett_arg);
sett_arg sett__sum(const sett__ctx *, sett_arg, sett_arg); /* of numbers or of coordinates */
sett_arg sett__idx2crd(const sett__ctx *, sett_arg idx, sett_arg shape);
sett_arg sett__ceil_div_tuple(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__round_up_tuple(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__shape_div(const sett__ctx *, sett_arg, sett_arg);
sett_arg sett__append(const sett__ctx *, sett_arg, sett_arg); /* adds one mode; a leaf becomes a tuple */
/* The children of x whose coordinate is `_` (keep_slices), or is not; nested tuples are joined. */
sett_arg sett__sieve(const sett__ctx *, sett_arg crd, sett_arg x, bool keep_slices);
/* Compact strides from `start`, in colexicographic order; *next (may be NULL): the stride after the last. */
sett_arg sett__compact(const sett__ctx *, sett_arg shape, sett_arg start, sett_arg *next);
/* The inner product of coordinate and stride, through the profile; basis strides give an arithmetic tuple. */
sett_arg sett__crd2idx(const sett__ctx *, sett_arg coord, sett_arg shape, sett_arg stride);
/* ---- tuple_ops.c -------------------------------------------------------------------------------- */
bool sett__use_alone(sett__ctx *, sett_arg); /* sets the context's build to the operand's own, if it has one */
sett_arg sett__find(const sett__ctx *, sett_arg x, sett_test_fn, void *user); /* as sett_find_if */
/* ---- layout.c ----------------------------------------------------------------------------------- */
sett_layout *sett__layout(sett_build *, sett_arg shape, sett_arg stride); /* copies the tuples; checks nothing */
/* The value at a coordinate, with swizzle and offset. */
sett_arg sett__layout_at(const sett__ctx *, const sett_layout *, sett_arg coord);
/* The same of tuples that are in the arena already; poison if a leaf is. */
sett_layout *sett__own(const sett__ctx *, sett_arg shape, sett_arg stride);
/* Puts the swizzle or inner layout of `like` around another outer layout. */
sett_layout *sett__rewrap(const sett__ctx *, const sett_layout *like, const sett_layout *outer);
bool sett__is_64(sett_arg leaf); /* a value of 64 bits, or a number past 32 */
sett_layout *sett__poison_layout(const sett_build *);
bool sett__layout_poison(const sett_layout *);
bool sett__check_shape(const sett__ctx *, sett_arg); /* are all extents positive or dynamic? Else the build fails */
/* Makers whose arguments were checked; a stride of `_` means compact. */
sett_layout *sett__make(const sett__ctx *, sett_arg shape, sett_arg stride);
sett_layout *sett__ordered(const sett__ctx *, sett_arg shape, sett_arg order);
/* One mode of a plain layout; several layouts as modes of one. */
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
/* Coalesces leaves into a list. open: keeps a last mode of extent 1, whose stride counts for coordinates past it. */
void sett__coalesced(const sett__ctx *, sett__mode_list *, sett_arg shape, sett_arg stride, bool open);
sett_layout *sett__from_modes(const sett__ctx *, const sett__mode_list *); /* one mode gives a leaf, none gives 1:0 */
sett_layout *sett__coalesce(const sett__ctx *, const sett_layout *);
sett_layout *sett__filter(const sett__ctx *, const sett_layout *);
/* ---- composition.c ------------------------------------------------------------------------------ */
/* Why the composition of static layouts is refused, as a word. NULL: it is not refused, or the reason is unknown. */
const char *sett__refusal(const sett__ctx *, const sett_layout *, const sett_layout *, bool strict);
/* Composition with the rest of a divide, which may be rounded up. */
sett_layout *sett__compose_rest(const sett__ctx *, const sett_layout *, const sett_layout *);
sett_layout *sett__tiler_layout(const sett__ctx *, sett_arg, int stride_of_one); /* n gives n:1, a layout itself */
sett_layout *sett__compose(const sett__ctx *, const sett_layout *, sett_arg rhs); /* rhs: layout, tiler or shape */
/* ---- complement.c ------------------------------------------------------------------------------- */
sett_layout *sett__complement(const sett__ctx *, const sett_layout *, sett_arg cotarget);
sett_layout *sett__open_complement(const sett__ctx *, const sett_layout *); /* the complement in an unbounded range */
void sett__sort_modes(sett__mode_list *); /* by static strides */
sett_layout *sett__bad_layout(const sett__ctx *, sett_status, const char *text, const sett_layout *);
/* ---- inverse.c ---------------------------------------------------------------------------------- */
sett_layout *sett__right_inverse(const sett__ctx *, const sett_layout *);
/* ---- divide.c ----------------------------------------------------------------------------------- */
sett_layout *sett__logical_divide(const sett__ctx *, const sett_layout *, sett_arg tiler);
sett_layout *sett__zip_tiles(const sett__ctx *, const sett_layout *, sett_arg tiler); /* ((a,b),(c,d)) to ((a,c),(b,d)) */
/* A public divide or product in one of four forms: the result of f; its pairs zipped to (tiles,rest); the rest opened,
 * (tiles,r0,r1,...); both opened, (t0,t1,...,r0,...). */
typedef enum sett__tile_form { SETT__LOGICAL, SETT__ZIPPED, SETT__TILED, SETT__FLAT } sett__tile_form;
typedef sett_layout *sett__tile_fn(const sett__ctx *, const sett_layout *, sett_arg tiler);
sett_layout *sett__tiled(sett_site, const char *name, const sett_layout *, sett_arg tiler, sett__tile_fn *, sett__tile_form);
/* ---- product.c ---------------------------------------------------------------------------------- */
sett_layout *sett__logical_product(const sett__ctx *, const sett_layout *, sett_arg tiler);
/* ---- notation.c: notation -------------------------------------------------------------------- */
void sett__name_loop(sett_build *, uint32_t op, const char *name); /* the body's name for the variable of a FOR */
/* Text in CuTe's notation, snprintf-like: "(4,(?{div=8},_))", layouts, tilers. */
void sett__put_arg(sett__sink *, sett_arg);
void sett__put_layout(sett__sink *, const sett_layout *);
void sett__put_tensor(sett__sink *, const sett_tensor *);
int sett__arg_str(sett_arg, char *buf, size_t size);
int sett__layout_str(const sett_layout *, char *buf, size_t size);
const char *sett__arg_text(sett_build *, sett_arg); /* in the arena, for messages: with symbols' names instead of `?` */
const char *sett__of_tuple(sett_arg); /* what to write instead of it, behind the text of an operand that is no number; or "" */
const char *sett__layout_text(sett_build *, const sett_layout *);
/* Reads a layout, tuple or tiler. The hook reads what begins with `?` and moves *at behind it. */
typedef bool sett__dynamic_fn(void *user, const char **at, sett_arg *leaf);
sett_arg sett__parse(const sett__ctx *, const char *text, sett__dynamic_fn *, void *user);

/* ---- offset.c: sums of offsets -------------------------------------------------------------------- */
sett_arg sett__widen(const sett__ctx *, sett_arg);       /* makes dynamic leaves Int64 */
/* a, without the non-negative constants that were added last; *constant: their sum. A static a gives 0, and *constant is a. */
sett_arg sett__peel(sett_build *, sett_arg a, int64_t *constant);
/* Sum of two offsets, leaves or arithmetic tuples; constants are added last, for sett__peel. POISON: failed. */
sett_arg sett__add_offset(const sett__ctx *, sett_arg, sett_arg);
/* A scalar integer leaf as a value: of 32 bits, or 64 if it needs them or has them. */
sett_val *sett__arg_val(sett_build *, sett_site, sett_arg leaf);
/* leaf.c: a scalar integer as another type, which keeps what is known of it. */
sett_val *sett__leaf_to(const sett__ctx *, sett_val *, sett_dtype);

/* ---- places.c: the offsets of all elements ---------------------------------------------------------------- */
typedef struct sett__axis { int64_t extent; sett_arg stride; } sett__axis;
typedef struct sett__axes { int n; int64_t size; sett__axis *mode; } sett__axes; /* the leaves of a static shape */
/* False: the build has failed, with SETT_E_STATIC naming the mode. */
bool sett__axes_of(const sett__ctx *, sett_arg shape, sett_arg stride, sett__axes *);
/* Element i, colexicographic, is at offset base[group[i]] + imm[i]. A group is one combination of the coordinates that dynamic
 * strides multiply. Its base is a value, or 0. */
typedef struct sett__places {
    uint32_t n, n_group, *group;
    sett_arg *base;
    int64_t *imm;
    uint32_t parted; /* neighbours that a swizzle would keep together, were `start` known to be a multiple of so many; 0: none */
    sett_arg start;
} sett__places;
bool sett__places_of(const sett__ctx *, const sett__axes *, sett_arg origin, sett__places *);
/* Takes memory for this many elements; false: the build has failed. */
bool sett__make_places(const sett__ctx *, int64_t size, sett__places *);

/* ---- tensor_text.c -------------------------------------------------------------------------------- */
const char *sett__tensor_text(sett_build *, const sett_tensor *); /* for messages, in the arena: "A (?,8):(8,1)" */
uint32_t sett__start_align(const sett_tensor *); /* known alignment of the address of element 0, in bytes */
const char *sett__space_name(sett_space);        /* "gmem"; make.c */
bool sett__has_layout(sett_arg); /* is it a tiler, which prints in brackets of its own? notation.c */

#endif
