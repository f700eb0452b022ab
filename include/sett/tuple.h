/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples of integers (CuTe's IntTuple): questions about them, and calls that transform them. A tuple's
 * profile is static, its leaves are C integers or dynamic. A result that is a tuple lives in the build, the
 * first operand. Where all operands have static leaves the result has a static leaf, and nothing is recorded.
 * Calls that also take layouts (sett_slice, sett_flatten, sett_append ...; most take tensors too) take a
 * build and a tuple instead:
 *
 *     sett_flatten(l)      sett_flatten(b, T(4, T(2, 3)))     (4,2,3)
 *
 * SETT_E_RANK: profiles do not fit. SETT_E_RANGE: more than 64 bits. */
#ifndef SETT_TUPLE_H
#define SETT_TUPLE_H
#include <sett/arg.h>

#ifndef __cplusplus

/* ---- numbers ---------------------------------------------------------------------- */
/* Products: product of all leaves; product_each of each top mode; product_like of what is below each leaf of
 * a profile: (2,(3,4)) by (1,1) is (2,12). */
SETT_API sett_arg sett_product_at(sett_site, sett_arg);
SETT_API sett_arg sett_product_each_at(sett_site, sett_build *, sett_arg);
SETT_API sett_arg sett_product_like_at(sett_site, sett_build *, sett_arg, sett_arg profile);
#define sett_product(x) sett_product_at(SETT_HERE, SETT_A(x))
#define sett_product_each(b, x) sett_product_each_at(SETT_HERE, b, SETT_A(x))
#define sett_product_like(b, x, profile) sett_product_like_at(SETT_HERE, b, SETT_A(x), SETT_A(profile))

/* Divisions. sett_ceil_div(x, d) divides integers, static or dynamic; sett_ceil_div(b, x, d) also tuples.
 * Tuples of one profile divide leaf by leaf. A number divides a tuple from mode 0 on until it is used up:
 * (4,5,6) by 40. A tuple divides a number by its product.
 *     ceil_div  rounded up: how many tiles. d may hold layouts,
 *         as a tiler of sett_zipped_divide: (16,16) by (4,8):(1,8) is
 *                 (2,4), what a divide of as many elements leaves; x may be a layout, for its shape
 *     round_up    the next multiple of d
 *     shape_div  exact: one of x and d divides the other, else SETT_E_DIVIDE ("divisibility"); x/d,
 *         or 1 where x divides d
 *                 ((4,5,6) by 40 is (1,1,3)). Each launch checks dynamic ones, as for sett_composition */
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

/* The coordinate after crd in a shape, first mode fastest. The last mode does not wrap at its extent, so that
 * it can end a loop: after (2,2,2) in (3,3,3) comes (0,0,3). */
SETT_API sett_arg sett_increment_coord_at(sett_site, sett_build *, sett_arg crd, sett_arg shape);
#define sett_increment_coord(b, crd, shape) sett_increment_coord_at(SETT_HERE, b, SETT_A(crd), SETT_A(shape))

/* ---- transforming --------------------------------------------------------------------------- */
/* What the macros of layout.h call for a build and a tuple: sett_flatten, sett_group_modes, sett_slice,
 * sett_dice, sett_select, sett_append, sett_prepend. parts: (tuple,coordinate) or (tuple,mode,...). */
SETT_API sett_arg sett_flatten_tuple_at(sett_site, sett_build *, sett_arg);
SETT_API sett_arg sett_group_modes_tuple_at(sett_site, sett_build *, sett_arg, int begin, int end);
SETT_API sett_arg sett_slice_tuple_at(sett_site, sett_build *, sett_arg parts);
SETT_API sett_arg sett_dice_tuple_at(sett_site, sett_build *, sett_arg parts);
SETT_API sett_arg sett_select_tuple_at(sett_site, sett_build *, sett_arg parts);
SETT_API sett_arg sett_append_tuple_at(sett_site, sett_build *, sett_arg, sett_arg mode);
SETT_API sett_arg sett_prepend_tuple_at(sett_site, sett_build *, sett_arg, sett_arg mode);
SETT_API sett_arg sett_append_tuple_upto_at(sett_site, sett_build *, sett_arg, sett_arg mode, int rank);
SETT_API sett_arg sett_prepend_tuple_upto_at(sett_site, sett_build *, sett_arg, sett_arg mode, int rank);
/* As sett_flatten, but a leaf gives a tuple of one. */
SETT_API sett_arg sett_flatten_to_tuple_at(sett_site, sett_build *, sett_arg);
#define sett_flatten_to_tuple(b, x) sett_flatten_to_tuple_at(SETT_HERE, b, SETT_A(x))
/* The profile, with the children of seq in place of its leaves, in order: (1,2,3) by (0,(0,0)) is (1,(2,3)).
 * SETT_E_RANK: not as many children as leaves. */
SETT_API sett_arg sett_unflatten_at(sett_site, sett_build *, sett_arg seq, sett_arg profile);
#define sett_unflatten(b, seq, profile) sett_unflatten_at(SETT_HERE, b, SETT_A(seq), SETT_A(profile))
/* wrap makes a tuple of one of a leaf, and leaves a tuple as it is. unwrap replaces a tuple of one by its
 * child, as often as that is possible. */
SETT_API sett_arg sett_wrap_at(sett_site, sett_build *, sett_arg);
SETT_API sett_arg sett_unwrap_at(sett_site, sett_arg);
#define sett_wrap(b, x) sett_wrap_at(SETT_HERE, b, SETT_A(x))
#define sett_unwrap(x) sett_unwrap_at(SETT_HERE, SETT_A(x))
/* The first leaf. */
SETT_API sett_arg sett_front_at(sett_site, sett_arg);
#define sett_front(x) sett_front_at(SETT_HERE, SETT_A(x))
/* One tuple of the children of all operands; a leaf counts as its own child. */
SETT_API sett_arg sett_tuple_cat_at(sett_site, sett_build *, sett_arg operands);
#define sett_tuple_cat(b, ...) sett_tuple_cat_at(SETT_HERE, b, SETT_T(__VA_ARGS__))
/* repeat: (x,x,...) of n, or x itself if n is 1. repeat_as_tuple: (x) if n is 1. repeat_like: the profile,
 * with x at each leaf. */
SETT_API sett_arg sett_repeat_at(sett_site, sett_build *, sett_arg, int n);
SETT_API sett_arg sett_repeat_as_tuple_at(sett_site, sett_build *, sett_arg, int n);
SETT_API sett_arg sett_repeat_like_at(sett_site, sett_build *, sett_arg, sett_arg profile);
#define sett_repeat(b, x, n) sett_repeat_at(SETT_HERE, b, SETT_A(x), n)
#define sett_repeat_as_tuple(b, x, n) sett_repeat_as_tuple_at(SETT_HERE, b, SETT_A(x), n)
#define sett_repeat_like(b, x, profile) sett_repeat_like_at(SETT_HERE, b, SETT_A(x), SETT_A(profile))
/* Calls f of each leaf, in order. transform_leaf gives the results in the same profile. filter_tuple calls f
 * of each child, whose results are tuples, and gives one tuple of all their children. f may record; it is not
 * called after the call returns. */
typedef sett_arg (*sett_leaf_fn)(sett_arg leaf, void *user);
SETT_API sett_arg sett_transform_leaf_at(sett_site, sett_build *, sett_arg, sett_leaf_fn, void *user);
SETT_API sett_arg sett_filter_tuple_at(sett_site, sett_build *, sett_arg, sett_leaf_fn, void *user);
#define sett_transform_leaf(b, x, f, user) sett_transform_leaf_at(SETT_HERE, b, SETT_A(x), f, user)
#define sett_filter_tuple(b, x, f, user) sett_filter_tuple_at(SETT_HERE, b, SETT_A(x), f, user)

/* ---- questions ------------------------------------------------------------------------------ */
/* is_static: are all leaves integers that are known while building? has_underscore: is a leaf `_`?
 * is_integer: is it one integer, static or dynamic? */
SETT_API bool sett_is_static_at(sett_site, sett_arg);
SETT_API bool sett_has_underscore_at(sett_site, sett_arg);
SETT_API bool sett_is_integer_at(sett_site, sett_arg);
#define sett_is_static(x) sett_is_static_at(SETT_HERE, SETT_A(x)) /* of a layout: all of its numbers */
#define sett_has_underscore(x) sett_has_underscore_at(SETT_HERE, SETT_A(x))
#define sett_is_integer(x) sett_is_integer_at(SETT_HERE, SETT_A(x))
/* The mode of the first leaf that equals `leaf`, or that `test` accepts: a number, a tuple of numbers for a
 * nested leaf, or `_` (SETT_ALL) if there is none. A dynamic leaf equals only itself. */
typedef bool (*sett_test_fn)(sett_arg leaf, void *user);
SETT_API sett_arg sett_find_at(sett_site, sett_build *, sett_arg x, sett_arg leaf);
SETT_API sett_arg sett_find_if_at(sett_site, sett_build *, sett_arg x, sett_test_fn, void *user);
#define sett_find(b, x, leaf) sett_find_at(SETT_HERE, b, SETT_A(x), SETT_A(leaf))
#define sett_find_if(b, x, test, user) sett_find_if_at(SETT_HERE, b, SETT_A(x), test, user)
/* Is the stride of a mode (its first leaf) statically 1? */
SETT_API bool sett_is_major_at(sett_site, int mode, sett_arg stride);
#define sett_is_major(mode, stride) sett_is_major_at(SETT_HERE, mode, stride)
/* Is every leaf of a below b's? 0 or 1, or a dynamic Boolean. If b's profile goes on below a leaf of a, the
 * product counts. A leaf of b that is `_` does not count. sett_elem_less calls this for two tuples or
 * integers. */
SETT_API sett_arg sett_elem_less_tuple_at(sett_site, sett_arg a, sett_arg b);

/* ---- scaled basis vectors ------------------------------------------------------------------------ */
/* The scaled basis vector v@m: v times the unit vector of mode m. Several modes go from the outermost inward,
 * and print innermost first: sett_E(1, 0) is 1@0@1. Up to 8 levels of modes 0 to 14; beyond, a call that is
 * given the result says SETT_E_LIMIT. */
SETT_API sett_arg sett_scaled_basis_at(sett_site, sett_arg value, sett_arg modes);
#define sett_scaled_basis(value, ...) sett_scaled_basis_at(SETT_HERE, SETT_A(value), SETT_T(__VA_ARGS__))
#define sett_E(...) sett_scaled_basis_at(SETT_HERE, sett_arg_i(1), SETT_T(__VA_ARGS__))
/* basis_value: v of v@m; a number's own value. basis_get: what the tuple x has at mode m. */
SETT_API sett_arg sett_basis_value_at(sett_site, sett_arg basis);
SETT_API sett_arg sett_basis_get_at(sett_site, sett_arg basis, sett_arg x);
#define sett_basis_value(basis) sett_basis_value_at(SETT_HERE, basis)
#define sett_basis_get(basis, x) sett_basis_get_at(SETT_HERE, basis, SETT_A(x))

#endif /* __cplusplus */
#endif
