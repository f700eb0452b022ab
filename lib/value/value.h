/* SPDX-License-Identifier: Apache-2.0 */
/* Register values with a shape: arithmetic, conversions, functions, predicates of coordinates. */
#ifndef SETT_LIB_VALUE_H
#define SETT_LIB_VALUE_H
#include "lib/layout/layout.h"
#include <sett/divmod.h>
#include <sett/value.h>

/* ---- value.c: arithmetic ------------------------------------------------------------------------ */
sett_val *sett__converted(sett_build *, sett_site, sett_val *, sett_dtype);
static inline sett_val *sett__to(sett_build *b, sett_site site, sett_val *v, sett_dtype dtype) /* CONVERT, if it is another type */
{
    return v->dtype == dtype && !b->error.status ? v : sett__converted(b, site, v, dtype);
}
/* A C number as a value of a type, SETT_E_RANGE if the type cannot hold it; or a scalar value that has the type already. func
 * is the public name. */
sett_val *sett__number(sett_build *, sett_site, const char *func, sett_arg, sett_dtype);
/* One element of a type: a number as sett_const makes it, or a scalar value converted. */
sett_val *sett__element(const sett__ctx *, sett_arg, sett_dtype);
/* The same, but an integer type must hold an integer (a fraction truncates); a float type rounds, also to infinity. */
sett_val *sett__exact_element(const sett__ctx *, sett_arg, sett_dtype);
sett_val *sett__assumed(const sett_val *, int64_t div); /* the same value, known to be a multiple of div */
/* ---- wide_int.c, narrow.c: integers of 128 bits, and types that are only stored ------------------ */
sett_val *sett__to_wide(sett_build *, sett_site, sett_val *, sett_dtype); /* between floats and integers of 128 bits */
sett_val *sett__to_narrow(sett_build *, sett_site, sett_val *, sett_dtype); /* narrow.c: to or from a type that is only stored */
/* ---- math.c: one operand ------------------------------------------------------------------------ */
sett_val *sett__unary(sett_build *, sett_site, sett__code, sett_val *); /* one UNARY op */
/* ---- math_binary.c: POW and what follows it ----------------------------------------------------- */
/* Both operands must have one type. */
bool sett__expands(sett_binary_op, sett_dtype);
sett_val *sett__expand_binary(const sett__ctx *, sett_binary_op, sett_val *, sett_val *);
/* ---- shape.c: shapes of values ------------------------------------------------------------------ */
/* Gives up to 3 values one shape, by repeating elements where an extent is 1. Scalars and values of one element stay as they
 * are: an op takes them as splats. False: they do not broadcast, and the build has failed. */
bool sett__broadcast(const sett__ctx *, sett_val **, int n);
/* ---- predicate.c ------------------------------------------------------------------------------------------------------ */
/* Records a lazy Boolean (of sett_elem_less, id SETT__NONE) as a value of its shape, once; returns any other value as it is,
 * and never NULL. Call it before reading val->id. */
const sett_val *sett__materialise(sett_site, const sett_val *);
/* About elements `elem` of a lazy predicate. alike: are they all inside, or all outside, whatever the coordinates? all, any:
 * the Boolean op "all are inside", "one is inside"; or SETT__TRUE, SETT__FALSE if that is known. */
#define SETT__TRUE (SETT__NONE - 1)
#define SETT__FALSE (SETT__NONE - 2)
bool sett__pred_alike(const sett__ctx *, const struct sett__pred *, const uint32_t *elem, uint32_t n);
uint32_t sett__pred_all(const sett__ctx *, const struct sett__pred *, const uint32_t *elem, uint32_t n, bool stay);
uint32_t sett__pred_any(const sett__ctx *, const struct sett__pred *, const uint32_t *elem, uint32_t n, bool stay);
/* sett_and of a lazy predicate with a scalar, or with another lazy one of its shape, which is lazy too. NULL: the operands are
 * others. */
sett_val *sett__pred_and(const sett__ctx *, sett_arg, sett_arg);
uint32_t sett__and(const sett__ctx *, uint32_t x, uint32_t y, bool stay); /* of Boolean ops, or SETT__TRUE, SETT__FALSE */
uint32_t sett__or(const sett__ctx *, uint32_t x, uint32_t y, bool stay);

/* The bits as n elements of another type, where one of the types is narrower than a byte: the lowest bits first. */
sett_val *sett__bitcast_packed(sett_build *, sett_site, sett_val *, sett_dtype to, uint32_t n);
/* sett_elem_less of the coordinates origin + crd(i); crd is a plain layout of basis strides. least: sett_elem_at_least
 * instead. */
sett_val *sett__compare_coords(const sett__ctx *, const sett_layout *crd, sett_arg origin, sett_arg limit, bool least);
/* Where each element of crd lies in the leaf at `path`, from `origin` on, which is that leaf of the tensor's origin. */
bool sett__leaf_places(const sett__ctx *, const sett__axes *, uint32_t path, sett_arg origin, sett__places *);
sett_arg sett__as_signed(const sett__ctx *, sett_arg); /* an unsigned value as Int64 */
uint32_t sett__pack(const sett__ctx *, sett_dtype, const uint32_t *id, uint32_t n); /* n ops as one value; of one, that op */
/* ---- coord.c: the number at `mode`, an integer or a tuple of them, of each coordinate origin + crd(i) ------------ */
sett_val *sett__coord_value(const sett__ctx *, const sett_layout *crd, sett_arg origin, sett_arg mode);
/* shape.c: the element at a static coordinate, where `_` keeps a mode. */
sett_val *sett__element_at(const sett__ctx *, sett_val *, sett_arg coord);

/* ---- asked.c: Booleans that nothing uses -------------------------------------------------------- */
/* Remembers what a public call of two operands gave, if it is a Boolean. It gives v. */
sett_val *sett__asked(const sett__ctx *, sett_val *v, sett_arg x, sett_arg y); /* y: SETT_ALL: there is one operand */
void sett__check_asked(sett_build *); /* once a body has ended: notes those that no call and no operation took */

#include "expand.h" /* functions as expansions */
#endif
