/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples of integers (CuTe's IntTuple): what they are, and what becomes of them. A tuple's profile is static; its
 * leaves are C integers or dynamic. Results that are tuples live in the build, which is the first operand; leaves that
 * are static in all operands give static ones and record nothing. Functions that layouts and tensors have too
 * (sett_slice, sett_flatten, sett_append ...) take a build and a tuple in place of the layout:
 *
 *     sett_flatten(l)      sett_flatten(b, T(4, T(2, 3)))     (4,2,3)
 *
 * A profile that does not fit is SETT_E_RANK, an overflow of 64 bits SETT_E_RANGE. */
#ifndef SETT_TUPLE_H
#define SETT_TUPLE_H
#include <sett/arg.h>

#ifndef __cplusplus

/* ---- numbers ---------------------------------------------------------------------- */
/* Of all leaves; of each top mode; of what stands below each leaf of a profile: (2,(3,4)) by (1,1) is (2,12). */
SETT_API sett_arg sett_product_at(sett_site, sett_arg);
SETT_API sett_arg sett_product_each_at(sett_site, sett_build *, sett_arg);
SETT_API sett_arg sett_product_like_at(sett_site, sett_build *, sett_arg, sett_arg profile);
#define sett_product(x) sett_product_at(SETT_HERE, SETT_A(x))
#define sett_product_each(b, x) sett_product_each_at(SETT_HERE, b, SETT_A(x))
#define sett_product_like(b, x, profile) sett_product_like_at(SETT_HERE, b, SETT_A(x), SETT_A(profile))

/* Divisions: sett_ceil_div(x, d) of integers, static or dynamic, sett_ceil_div(b, x, d) of tuples too. By leaf where the
 * profiles agree; a number divides a tuple from mode 0 on until it is used up, (4,5,6) by 40; a tuple divides a number by
 * its product.
 *     ceil_div    rounded up: how many tiles. d may hold layouts, as a tiler of sett_zipped_divide: (16,16) by (4,8):(1,8) is
 *                 (2,4), what a divide of as many elements leaves; x may be a layout, for its shape
 *     round_up    the next multiple of d
 *     shape_div   exact: one of x and d divides the other, else SETT_E_DIVIDE ("divisibility"); x/d, or 1 where x divides d
 *                 ((4,5,6) by 40 is (1,1,3)). Of dynamic ones each launch checks it, as for sett_composition. */
#define SETT_DIVISIONS(X) X(ceil_div) X(round_up) X(shape_div)
#define SETT_DIVISION_DECLARE(op) \
    SETT_API sett_arg sett_##op##_at(sett_site, sett_arg x, sett_arg d); \
    SETT_API sett_arg sett_##op##_in_at(sett_site, sett_build *, sett_arg x, sett_arg d);
SETT_DIVISIONS(SETT_DIVISION_DECLARE)
#define sett_ceil_div(...) SETT_CAT(SETT_CEIL_DIV, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_CEIL_DIV2(x, d) sett_ceil_div_at(SETT_HERE, SETT_A(x), SETT_A(d))
#define SETT_CEIL_DIV3(b, x, d) sett_ceil_div_in_at(SETT_HERE, b, SETT_A(x), SETT_A(d))
#define sett_round_up(...) SETT_CAT(SETT_ROUND_UP, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_ROUND_UP2(x, d) sett_round_up_at(SETT_HERE, SETT_A(x), SETT_A(d))
#define SETT_ROUND_UP3(b, x, d) sett_round_up_in_at(SETT_HERE, b, SETT_A(x), SETT_A(d))
#define sett_shape_div(...) SETT_CAT(SETT_SHAPE_DIV, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_SHAPE_DIV2(x, d) sett_shape_div_at(SETT_HERE, SETT_A(x), SETT_A(d))
#define SETT_SHAPE_DIV3(b, x, d) sett_shape_div_in_at(SETT_HERE, b, SETT_A(x), SETT_A(d))

/* The coordinate after crd in a shape, first mode fastest; the last mode goes on past its extent, so that it can end a
 * loop: (2,2,2) in (3,3,3) is (0,0,3). */
SETT_API sett_arg sett_increment_coord_at(sett_site, sett_build *, sett_arg crd, sett_arg shape);
#define sett_increment_coord(b, crd, shape) sett_increment_coord_at(SETT_HERE, b, SETT_A(crd), SETT_A(shape))

/* ---- rearranging ------------------------------------------------------------------------ */
/* What sett_flatten, sett_group_modes, sett_slice, sett_dice, sett_select, sett_append and sett_prepend
 * (layout.h) call for a build and a tuple. parts: (tuple,coordinate), (tuple,mode,...). */
SETT_API sett_arg sett_flatten_tuple_at(sett_site, sett_build *, sett_arg);
SETT_API sett_arg sett_group_modes_tuple_at(sett_site, sett_build *, sett_arg, int begin, int end);
SETT_API sett_arg sett_slice_tuple_at(sett_site, sett_build *, sett_arg parts);
SETT_API sett_arg sett_dice_tuple_at(sett_site, sett_build *, sett_arg parts);
SETT_API sett_arg sett_select_tuple_at(sett_site, sett_build *, sett_arg parts);
SETT_API sett_arg sett_append_tuple_at(sett_site, sett_build *, sett_arg, sett_arg mode);
SETT_API sett_arg sett_prepend_tuple_at(sett_site, sett_build *, sett_arg, sett_arg mode);
SETT_API sett_arg sett_append_tuple_upto_at(sett_site, sett_build *, sett_arg, sett_arg mode, int rank);
SETT_API sett_arg sett_prepend_tuple_upto_at(sett_site, sett_build *, sett_arg, sett_arg mode, int rank);
/* As sett_flatten, but a leaf becomes a tuple of one. */
SETT_API sett_arg sett_flatten_to_tuple_at(sett_site, sett_build *, sett_arg);
#define sett_flatten_to_tuple(b, x) sett_flatten_to_tuple_at(SETT_HERE, b, SETT_A(x))
/* The children of seq, in order, in place of the leaves of profile: as many, else SETT_E_RANK. (1,2,3) by (0,(0,0)): (1,(2,3)). */
SETT_API sett_arg sett_unflatten_at(sett_site, sett_build *, sett_arg seq, sett_arg profile);
#define sett_unflatten(b, seq, profile) sett_unflatten_at(SETT_HERE, b, SETT_A(seq), SETT_A(profile))
/* wrap: a leaf as a tuple of one; a tuple itself. unwrap: a tuple of one as what is in it, as often as it is one. */
SETT_API sett_arg sett_wrap_at(sett_site, sett_build *, sett_arg);
SETT_API sett_arg sett_unwrap_at(sett_site, sett_arg);
#define sett_wrap(b, x) sett_wrap_at(SETT_HERE, b, SETT_A(x))
#define sett_unwrap(x) sett_unwrap_at(SETT_HERE, SETT_A(x))
/* The first leaf. */
SETT_API sett_arg sett_front_at(sett_site, sett_arg);
#define sett_front(x) sett_front_at(SETT_HERE, SETT_A(x))
/* The children of all operands in one tuple; a leaf is its own child. */
SETT_API sett_arg sett_tuple_cat_at(sett_site, sett_build *, sett_arg operands);
#define sett_tuple_cat(b, ...) sett_tuple_cat_at(SETT_HERE, b, SETT_T(__VA_ARGS__))
/* n times x: (x,x,...), and for n 1 x itself, or (x). By a profile: x at each of its leaves. */
SETT_API sett_arg sett_repeat_at(sett_site, sett_build *, sett_arg, int n);
SETT_API sett_arg sett_repeat_as_tuple_at(sett_site, sett_build *, sett_arg, int n);
SETT_API sett_arg sett_repeat_like_at(sett_site, sett_build *, sett_arg, sett_arg profile);
#define sett_repeat(b, x, n) sett_repeat_at(SETT_HERE, b, SETT_A(x), n)
#define sett_repeat_as_tuple(b, x, n) sett_repeat_as_tuple_at(SETT_HERE, b, SETT_A(x), n)
#define sett_repeat_like(b, x, profile) sett_repeat_like_at(SETT_HERE, b, SETT_A(x), SETT_A(profile))
/* f of each leaf (each child), in order: its results in the same profile; the children of its results, which are tuples,
 * in one. f is called during the call only; it may record. */
typedef sett_arg sett_leaf_fn(sett_arg leaf, void *user);
SETT_API sett_arg sett_transform_leaf_at(sett_site, sett_build *, sett_arg, sett_leaf_fn *, void *user);
SETT_API sett_arg sett_filter_tuple_at(sett_site, sett_build *, sett_arg, sett_leaf_fn *, void *user);
#define sett_transform_leaf(b, x, f, user) sett_transform_leaf_at(SETT_HERE, b, SETT_A(x), f, user)
#define sett_filter_tuple(b, x, f, user) sett_filter_tuple_at(SETT_HERE, b, SETT_A(x), f, user)

/* ---- asking ---------------------------------------------------------------------------------- */
/* Are all leaves integers that the builder knows; is there a `_`; is it one integer, static or dynamic? */
SETT_API bool sett_is_static_at(sett_site, sett_arg);
SETT_API bool sett_has_underscore_at(sett_site, sett_arg);
SETT_API bool sett_is_integer_at(sett_site, sett_arg);
#define sett_is_static(x) sett_is_static_at(SETT_HERE, SETT_A(x)) /* of a layout: extents, strides and offset */
#define sett_has_underscore(x) sett_has_underscore_at(SETT_HERE, SETT_A(x))
#define sett_is_integer(x) sett_is_integer_at(SETT_HERE, SETT_A(x))
/* Where the first leaf is that equals `leaf`, or that `test` accepts: a mode, a tuple of modes where it is nested, `_`
 * (SETT_ALL) where there is none. A dynamic leaf equals itself. */
typedef bool sett_test_fn(sett_arg leaf, void *user);
SETT_API sett_arg sett_find_at(sett_site, sett_build *, sett_arg x, sett_arg leaf);
SETT_API sett_arg sett_find_if_at(sett_site, sett_build *, sett_arg x, sett_test_fn *, void *user);
#define sett_find(b, x, leaf) sett_find_at(SETT_HERE, b, SETT_A(x), SETT_A(leaf))
#define sett_find_if(b, x, test, user) sett_find_if_at(SETT_HERE, b, SETT_A(x), test, user)
/* Is the stride of a mode (its first leaf) statically 1? */
SETT_API bool sett_is_major_at(sett_site, int mode, sett_arg stride);
#define sett_is_major(mode, stride) sett_is_major_at(SETT_HERE, mode, stride)
/* Is every leaf of a below b's (whose profile may go on below a's leaves: their product)? 0 or 1, or a dynamic Boolean:
 * what sett_elem_less of two tuples, or integers, gives. A leaf of b that is `_` is not asked. */
SETT_API sett_arg sett_elem_less_tuple_at(sett_site, sett_arg a, sett_arg b);

/* ---- scaled basis vectors ------------------------------------------------------------------------ */
/* v@m: v times the unit vector of mode m; several modes lead from the outermost one inward, and print innermost first:
 * sett_E(1, 0) is 1@0@1. Up to 8 levels of modes 0 to 14; else a later call says SETT_E_LIMIT. */
SETT_API sett_arg sett_scaled_basis_at(sett_site, sett_arg value, sett_arg modes);
#define sett_scaled_basis(value, ...) sett_scaled_basis_at(SETT_HERE, SETT_A(value), SETT_T(__VA_ARGS__))
#define sett_E(...) sett_scaled_basis_at(SETT_HERE, sett_arg_i(1), SETT_T(__VA_ARGS__))
/* v of v@m, a number's own; what a tuple has at m. */
SETT_API sett_arg sett_basis_value_at(sett_site, sett_arg basis);
SETT_API sett_arg sett_basis_get_at(sett_site, sett_arg basis, sett_arg x);
#define sett_basis_value(basis) sett_basis_value_at(SETT_HERE, basis)
#define sett_basis_get(basis, x) sett_basis_get_at(SETT_HERE, basis, SETT_A(x))

#endif /* __cplusplus */
#endif
