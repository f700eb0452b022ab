/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: functions from coordinates to integers, written shape:stride, and their
 * algebra, under CuTe's names.
 *
 *     (4,8):(8,1)       c = (i,j) -> 8 i + j: a row-major 4 x 8 matrix
 *
 * An integer coordinate is colexicographic: mode 0 varies fastest. Leaves are static (C
 * integers) or dynamic (sett_val *); profiles are always static. What CuTe's functions take in
 * several kinds, these do: sett_composition, sett_slice, sett_zipped_divide ... select on their
 * first operand (layout or tensor), sett_size, sett_shape ... also on a value or a tuple. */
#ifndef SETT_LAYOUT_H
#define SETT_LAYOUT_H
#include <sett/arg.h>
#include <sett/tuple.h>

#ifndef __cplusplus

/* ---- making ------------------------------------------------------------------- */
/* shape:stride; stride congruent with shape. sett_make_layout(b, shape) alone is compact,
 * colexicographic: (4,8) gives (4,8):(1,4). Of a tuple of layouts: their concatenation, a mode each. */
SETT_API sett_layout *sett_make_layout_at(sett_site, sett_build *, sett_arg shape, sett_arg stride_or_all);
#define sett_make_layout(...) SETT_CAT(SETT_MAKE_LAYOUT, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_MAKE_LAYOUT2(b, shape) sett_make_layout_at(SETT_HERE, b, SETT_A(shape), SETT_ALL)
#define SETT_MAKE_LAYOUT3(b, shape, stride) sett_make_layout_at(SETT_HERE_OF(#shape), b, SETT_A(shape), SETT_A(stride))
#define SETT_MAKE_LAYOUT4(b, shape, ...) \
    SETT_SAYS(!SETT_BEGINS_(#shape, "{"), SETT_A_TUPLE_IS_, SETT_SAYS(0, "a layout has a shape and a stride, each a number or SETT_T(4, 8)", SETT_HERE))
#define SETT_MAKE_LAYOUT5 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT6 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT7 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT8 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT9 SETT_MAKE_LAYOUT4
/* Compact; the mode with the smallest order is fastest. (32,16,8),(2,0,1) gives strides (128,1,16). A nested order counts over
 * all of its leaves: (4,(8,2)),(1,(0,2)) gives (8,(1,32)). Below a leaf of the order a shape is colexicographic. A leaf's first
 * stride is the size of all that has a smaller order, so equal ones share their offsets: (2,3,4),(0,0,1) gives (1,1,6). Orders
 * that are known only when it runs come last, from left to right. SETT_E_RANK: the order is nested deeper than the shape. */
SETT_API sett_layout *sett_make_ordered_layout_at(sett_site, sett_build *, sett_arg shape, sett_arg order);
#define sett_make_ordered_layout(b, shape, order) sett_make_ordered_layout_at(SETT_HERE, b, SETT_A(shape), SETT_A(order))
/* Compact, the last mode fastest. sett_row_major(b, M, N) is (M,N):(N,1). */
SETT_API sett_layout *sett_row_major_at(sett_site, sett_build *, sett_arg shape);
#define sett_row_major(b, ...) sett_row_major_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* Basis strides: the function is the coordinate itself. (4,8) gives (4,8):(1@0,1@1). */
SETT_API sett_layout *sett_make_identity_layout_at(sett_site, sett_build *, sett_arg shape);
#define sett_make_identity_layout(b, ...) sett_make_identity_layout_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* S<bits,base,shift> o 0 o l. bits 0 is l itself. */
SETT_API sett_layout *sett_make_swizzled_at(sett_site, int bits, int base, int shift, const sett_layout *);
#define sett_make_swizzled(bits, base, shift, l) sett_make_swizzled_at(SETT_HERE, bits, base, shift, l)
/* Thread layout (M,N)->thread and value layout (m,n)->value give the tile that the block covers and
 * the layout (thread, value) -> element of it. (4,32):(32,1) and (4,8):(8,1): (16,256) and
 * ((32,4),(8,4)):((128,4),(16,1)). Static ones must number the whole tile, each element once (SETT_E_ARGUMENT). */
typedef struct sett_tv {
    sett_arg tiler;
    sett_layout *tv;
} sett_tv;
SETT_API sett_tv sett_make_layout_tv_at(sett_site, const sett_layout *thr, const sett_layout *val);
#define sett_make_layout_tv(thr, val) sett_make_layout_tv_at(SETT_HERE, thr, val)

/* ---- algebra with one right operand: on layouts and tensors ----------------------------- */
/* name, public name. rhs: a layout, a tiler tuple, a shape or an integer, as in CuTe. */
#define SETT_ALGEBRA(X) \
    X(composition) X(logical_divide) X(zipped_divide) X(tiled_divide) X(flat_divide) \
    X(slice) X(dice) X(select) X(coalesce)
#define SETT_ALGEBRA_DECLARE(op) \
    SETT_API sett_layout *sett_##op##_layout_at(sett_site, const sett_layout *, sett_arg rhs); \
    SETT_API sett_tensor *sett_##op##_tensor_at(sett_site, const sett_tensor *, sett_arg rhs);
SETT_ALGEBRA(SETT_ALGEBRA_DECLARE)
#define SETT_PICK(op, x) \
    _Generic((x), sett_layout *: sett_##op##_layout_at, const sett_layout *: sett_##op##_layout_at, \
        sett_tensor *: sett_##op##_tensor_at, const sett_tensor *: sett_##op##_tensor_at)
#define SETT_PICK_OR_TUPLE(op, x) \
    _Generic((x), sett_layout *: sett_##op##_layout_at, const sett_layout *: sett_##op##_layout_at, \
        sett_tensor *: sett_##op##_tensor_at, const sett_tensor *: sett_##op##_tensor_at, sett_build *: sett_##op##_tuple_at)
/* R = A o B: R(c) = A(B(c)). Where the extents and strides that B meets do not divide each other there is no such layout:
 * SETT_E_DIVIDE. What run-time leaves leave open is checked by each launch (SETT_E_DIVIDE with this line), if symbols
 * and integer scalars decide it and it stands outside of every if; else it is the caller's promise. B may be composed:
 * A o (I o off o L) is (A o I) o off o L; or swizzled, where A moves bits only and keeps those of the swizzle neighbours:
 *     (4,8):(16,1) o S<1,0,2>o0o(4,8):(1,4)  is  S<1,0,-4>o0o(4,8):(16,1) */
#define sett_composition(x, rhs) SETT_PICK(composition, x)(SETT_HERE, x, SETT_A(rhs))
/* Cut into tiles, whose number is rounded up. (8,16):(16,1) by (2,4): logical ((2,4),(4,4)):((16,32),(1,4)), mode by mode
 * (inside, which); zipped ((2,4),(4,4)):((16,1),(32,4)), all insides, then which tile; tiled ((2,4),4,4); flat
 * (2,4,4,4). */
#define sett_logical_divide(x, tiler) SETT_PICK(logical_divide, x)(SETT_HERE, x, SETT_A(tiler))
#define sett_zipped_divide(x, tiler) SETT_PICK(zipped_divide, x)(SETT_HERE, x, SETT_A(tiler))
#define sett_tiled_divide(x, tiler) SETT_PICK(tiled_divide, x)(SETT_HERE, x, SETT_A(tiler))
#define sett_flat_divide(x, tiler) SETT_PICK(flat_divide, x)(SETT_HERE, x, SETT_A(tiler))
/* slice: the modes whose coordinate is ALL (dice: those whose is not). A tensor's start moves by the others, and so does
 * the offset inside a swizzled or composed layout: (_,1) of S<1,0,2> o 0 o (4,4):(1,4) is S<1,0,2> o 4 o (4):(1). */
#define sett_slice(x, ...) SETT_PICK_OR_TUPLE(slice, x)(SETT_HERE_OF(#__VA_ARGS__), x, SETT_TUPLE(__VA_ARGS__))
#define sett_dice(x, ...) SETT_PICK_OR_TUPLE(dice, x)(SETT_HERE_OF(#__VA_ARGS__), x, SETT_TUPLE(__VA_ARGS__))
/* A slice with where it starts, apart: (_,1) of (4,4):(1,4) is (4):(1) and 4. Of a swizzled or composed layout the start is
 * inside, and the offset 0. */
typedef struct sett_layout_offset {
    sett_layout *layout;
    sett_arg offset;
} sett_layout_offset;
SETT_API sett_layout_offset sett_slice_and_offset_at(sett_site, const sett_layout *, sett_arg coord);
#define sett_slice_and_offset(l, ...) sett_slice_and_offset_at(SETT_HERE_OF(#__VA_ARGS__), l, SETT_TUPLE(__VA_ARGS__))
/* The chosen top modes, in that order. */
#define sett_select(x, ...) SETT_PICK_OR_TUPLE(select, x)(SETT_HERE, x, SETT_T(__VA_ARGS__))
/* The same function with the fewest modes; sett_coalesce_by keeps the profile. */
#define sett_coalesce(x) SETT_PICK(coalesce, x)(SETT_HERE, x, SETT_ALL)
#define sett_coalesce_by(x, profile) SETT_PICK(coalesce, x)(SETT_HERE, x, SETT_A(profile))

/* ---- algebra on layouts alone -------------------------------------------------------------- */
/* What l leaves free of [0, size(cotarget)), in order: 4:1 of 24 leaves 6:4; 4:2 leaves (2,3):(1,8).
 * cotarget ALL: without an end; a last extent of 1 has the stride at which it goes on. Each stride, also of an extent that
 * only turns out to be 1, is at least what the smaller strides cover: SETT_E_DIVIDE here, or at launch. */
SETT_API sett_layout *sett_complement_at(sett_site, const sett_layout *, sett_arg cotarget);
#define sett_complement(l, cotarget) sett_complement_at(SETT_HERE, l, SETT_A(cotarget))
/* (block, copies of it in the tiler's order): (2,2):(2,1) and 3 give ((2,2),3):((2,1),4). SETT_E_DIVIDE where copies
 * would share offsets. */
SETT_API sett_layout *sett_logical_product_at(sett_site, const sett_layout *, sett_arg tiler);
#define sett_logical_product(l, tiler) sett_logical_product_at(SETT_HERE, l, SETT_A(tiler))
/* block o (its copies, as the tiler says): ((block),(tiler)), and as with divide zipped, tiled, flat. */
SETT_API sett_layout *sett_zipped_product_at(sett_site, const sett_layout *, sett_arg tiler);
SETT_API sett_layout *sett_tiled_product_at(sett_site, const sett_layout *, sett_arg tiler);
SETT_API sett_layout *sett_flat_product_at(sett_site, const sett_layout *, sett_arg tiler);
#define sett_zipped_product(l, tiler) sett_zipped_product_at(SETT_HERE, l, SETT_A(tiler))
#define sett_tiled_product(l, tiler) sett_tiled_product_at(SETT_HERE, l, SETT_A(tiler))
#define sett_flat_product(l, tiler) sett_flat_product_at(SETT_HERE, l, SETT_A(tiler))
/* Mode by mode: (block, tiler) side by side, or (tiler, block). (2,5):(5,1) and (3,4):(1,3) give
 * ((2,3),(5,4)):((5,10),(1,30)), raked ((3,2),(4,5)):((10,5),(30,1)). Where the first of a pair is one number the other keeps
 * its nesting: 4:1 and (8):(1) give ((4,(8))):((1,(4))). SETT_E_RANK: the first is a tuple of one and the other a number. */
SETT_API sett_layout *sett_blocked_product_at(sett_site, const sett_layout *block, const sett_layout *tiler);
SETT_API sett_layout *sett_raked_product_at(sett_site, const sett_layout *block, const sett_layout *tiler);
#define sett_blocked_product(block, tiler) sett_blocked_product_at(SETT_HERE, block, tiler)
#define sett_raked_product(block, tiler) sett_raked_product_at(SETT_HERE, block, tiler)
/* The block repeated to fill shape, copies in colexicographic order, or in `order`. */
SETT_API sett_layout *sett_tile_to_shape_at(sett_site, const sett_layout *block, sett_arg shape, sett_arg order_or_all);
#define sett_tile_to_shape(block, shape, order) sett_tile_to_shape_at(SETT_HERE, block, SETT_A(shape), SETT_A(order))
/* Stride-0 modes to extent 1; then coalesced. */
SETT_API sett_layout *sett_filter_zeros_at(sett_site, const sett_layout *);
SETT_API sett_layout *sett_filter_at(sett_site, const sett_layout *);
#define sett_filter_zeros(l) sett_filter_zeros_at(SETT_HERE, l)
#define sett_filter(l) sett_filter_at(SETT_HERE, l)
/* L o right_inverse(L) is the identity on its size; left_inverse(L) o L the identity on L's domain.
 * (4,8):(8,1) gives (8,4):(4,1), both ways. Extents static; the left one needs static strides, none negative. A mode with a
 * negative stride is in no right inverse: that of 4:-1 is 1:0. */
SETT_API sett_layout *sett_right_inverse_at(sett_site, const sett_layout *);
SETT_API sett_layout *sett_left_inverse_at(sett_site, const sett_layout *);
#define sett_right_inverse(l) sett_right_inverse_at(SETT_HERE, l)
#define sett_left_inverse(l) sett_left_inverse_at(SETT_HERE, l)
/* Compact strides in the order of l's (stride 0 and extent 1 keep 0): an array to hold what l shows. */
SETT_API sett_layout *sett_make_layout_like_at(sett_site, const sett_layout *);
#define sett_make_layout_like(l) sett_make_layout_like_at(SETT_HERE, l)
/* By the modes of a profile, as sett_coalesce_by. */
SETT_API sett_layout *sett_filter_by_at(sett_site, const sett_layout *, sett_arg profile);
#define sett_filter_by(l, profile) sett_filter_by_at(SETT_HERE, l, SETT_A(profile))
/* The coordinates that L maps to 0. */
SETT_API sett_layout *sett_nullspace_at(sett_site, const sett_layout *);
#define sett_nullspace(l) sett_nullspace_at(SETT_HERE, l)
/* The longest contiguous run that both layouts keep in the same order, and its size. */
SETT_API sett_layout *sett_max_common_layout_at(sett_site, const sett_layout *, const sett_layout *);
SETT_API sett_arg sett_max_common_vector_at(sett_site, const sett_layout *, const sett_layout *);
#define sett_max_common_layout(a, b) sett_max_common_layout_at(SETT_HERE, a, b)
#define sett_max_common_vector(a, b) sett_max_common_vector_at(SETT_HERE, a, b)
/* Modes [begin,end) as one; all leaves as modes. Of layouts, tensors, tuples. */
SETT_API sett_layout *sett_group_modes_at(sett_site, const sett_layout *, int begin, int end);
SETT_API sett_tensor *sett_group_modes_tensor_at(sett_site, const sett_tensor *, int begin, int end);
SETT_API sett_layout *sett_flatten_at(sett_site, const sett_layout *);
SETT_API sett_tensor *sett_flatten_tensor_at(sett_site, const sett_tensor *);
#define sett_group_modes(...) SETT_CAT(SETT_GROUP_MODES, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_GROUP_MODES3(x, begin, end) SETT_PICK_ONE(group_modes, x)(SETT_HERE, x, begin, end)
#define SETT_GROUP_MODES4(b, x, begin, end) sett_group_modes_tuple_at(SETT_HERE, b, SETT_A(x), begin, end)
#define sett_flatten(...) SETT_CAT(SETT_FLATTEN, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_FLATTEN1(x) SETT_PICK_ONE(flatten, x)(SETT_HERE, x)
#define SETT_FLATTEN2(b, x) sett_flatten_tuple_at(SETT_HERE, b, SETT_A(x))
#define SETT_PICK_ONE(op, x) \
    _Generic((x), sett_layout *: sett_##op##_at, const sett_layout *: sett_##op##_at, sett_tensor *: sett_##op##_tensor_at, \
        const sett_tensor *: sett_##op##_tensor_at)
/* One more mode behind (in front): sett_append(l, mode); with a rank as many as it takes to have that many,
 * sett_append(l, mode, rank). Of tuples: sett_append(b, x, mode), sett_append(b, x, mode, rank). _ones: 1:0, and 1. */
SETT_API sett_layout *sett_append_at(sett_site, const sett_layout *, const sett_layout *mode);
SETT_API sett_layout *sett_prepend_at(sett_site, const sett_layout *, const sett_layout *mode);
SETT_API sett_layout *sett_append_upto_at(sett_site, const sett_layout *, sett_arg mode_or_all, sett_arg rank);
SETT_API sett_layout *sett_prepend_upto_at(sett_site, const sett_layout *, sett_arg mode_or_all, sett_arg rank);
#define sett_append(...) SETT_CAT(SETT_APPEND, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_APPEND2(l, mode) sett_append_at(SETT_HERE, l, mode)
#define SETT_APPEND3(x, y, z) \
    _Generic((x), sett_build *: sett_append_tuple_at, default: sett_append_upto_at)(SETT_HERE, x, SETT_A(y), SETT_A(z))
#define SETT_APPEND4(b, x, mode, rank) sett_append_tuple_upto_at(SETT_HERE, b, SETT_A(x), SETT_A(mode), rank)
#define sett_prepend(...) SETT_CAT(SETT_PREPEND, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_PREPEND2(l, mode) sett_prepend_at(SETT_HERE, l, mode)
#define SETT_PREPEND3(x, y, z) \
    _Generic((x), sett_build *: sett_prepend_tuple_at, default: sett_prepend_upto_at)(SETT_HERE, x, SETT_A(y), SETT_A(z))
#define SETT_PREPEND4(b, x, mode, rank) sett_prepend_tuple_upto_at(SETT_HERE, b, SETT_A(x), SETT_A(mode), rank)
#define sett_append_ones(...) SETT_CAT(SETT_APPEND_ONES, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_APPEND_ONES2(l, rank) sett_append_upto_at(SETT_HERE, l, SETT_ALL, SETT_A(rank))
#define SETT_APPEND_ONES3(b, x, rank) sett_append_tuple_upto_at(SETT_HERE, b, SETT_A(x), sett_arg_i(1), rank)
#define sett_prepend_ones(...) SETT_CAT(SETT_PREPEND_ONES, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_PREPEND_ONES2(l, rank) sett_prepend_upto_at(SETT_HERE, l, SETT_ALL, SETT_A(rank))
#define SETT_PREPEND_ONES3(b, x, rank) sett_prepend_tuple_upto_at(SETT_HERE, b, SETT_A(x), sett_arg_i(1), rank)
/* inner o offset o outer: R(c) = inner(offset + outer(c)). */
SETT_API sett_layout *sett_make_composed_layout_at(sett_site, const sett_layout *inner, sett_arg offset, const sett_layout *outer);
#define sett_make_composed_layout(inner, offset, outer) sett_make_composed_layout_at(SETT_HERE, inner, SETT_A(offset), outer)
/* In units of new_bits instead of old_bits: (32,4):(1,32) from 8 to 32 is (8,4):(1,8). A dynamic stride is taken to be
 * whole units of both, and not 1: a contiguous mode's stride must be static. */
SETT_API sett_layout *sett_recast_layout_at(sett_site, int new_bits, int old_bits, const sett_layout *);
#define sett_recast_layout(new_bits, old_bits, l) sett_recast_layout_at(SETT_HERE, new_bits, old_bits, l)

/* Of S<..> o offset o layout: the swizzle alone, over coordinates 0 to 2^(bits it looks at), and the layout alone. A plain
 * layout is all of the second; its first swizzles nothing. */
SETT_API sett_layout *sett_get_swizzle_portion_at(sett_site, const sett_layout *);
SETT_API sett_layout *sett_get_nonswizzle_portion_at(sett_site, const sett_layout *);
#define sett_get_swizzle_portion(l) sett_get_swizzle_portion_at(SETT_HERE, l)
#define sett_get_nonswizzle_portion(l) sett_get_nonswizzle_portion_at(SETT_HERE, l)
/* Bit i set for each value i that a static layout of at most 16 values takes along one mode from a coordinate: the multicast
 * mask of the blocks that share a tile. (2,4):(1,2) at (1,2) along mode 1: 0xaa. The coordinate may be dynamic; its own mode
 * is not looked at. A static one outside its extent is SETT_E_RANGE. */
SETT_API sett_arg sett_make_layout_image_mask_at(sett_site, const sett_layout *, sett_arg coord, int mode);
#define sett_make_layout_image_mask(l, coord, mode) sett_make_layout_image_mask_at(SETT_HERE, l, SETT_A(coord), mode)

/* ---- asking ---------------------------------------------------------------------------------- */
/* name(x) of a layout, tensor, value or tuple. shape, stride: tuples; the others: integers. A value or tuple has no strides
 * (SETT_E_ARGUMENT), and the cosize of its size. */
#define SETT_GETTERS(X) X(shape) X(stride) X(size) X(cosize)
#define SETT_GETTER_DECLARE(op) \
    SETT_API sett_arg sett_##op##_layout(const sett_layout *); \
    SETT_API sett_arg sett_##op##_tensor(const sett_tensor *); \
    SETT_API sett_arg sett_##op##_val(const sett_val *); \
    SETT_API sett_arg sett_##op##_arg(sett_arg);
SETT_GETTERS(SETT_GETTER_DECLARE)
#define SETT_ASK(op, x) \
    _Generic((x), sett_layout *: sett_##op##_layout, const sett_layout *: sett_##op##_layout, \
        sett_tensor *: sett_##op##_tensor, const sett_tensor *: sett_##op##_tensor, sett_val *: sett_##op##_val, \
        const sett_val *: sett_##op##_val, sett_arg: sett_##op##_arg)(x)
#define sett_shape(x) SETT_ASK(shape, x)
#define sett_stride(x) SETT_ASK(stride, x)
#define sett_size(x) SETT_ASK(size, x)
#define sett_cosize(x) SETT_ASK(cosize, x)
/* As C numbers: top modes; nesting. A scalar value has 0 and 1, as the tuple (). On poison 1. */
SETT_API int sett_rank_arg(sett_arg), sett_rank_layout(const sett_layout *), sett_rank_tensor(const sett_tensor *), sett_rank_val(const sett_val *);
SETT_API int sett_depth_arg(sett_arg), sett_depth_layout(const sett_layout *), sett_depth_tensor(const sett_tensor *), sett_depth_val(const sett_val *);
#define sett_rank(x) SETT_ASK(rank, x)
#define sett_depth(x) SETT_ASK(depth, x)
/* A static leaf as a C integer; SETT_E_STATIC (and 1) if it is dynamic or a tuple. */
SETT_API int64_t sett_static_at(sett_site, sett_build *, sett_arg);
#define sett_static(b, x) sett_static_at(SETT_HERE, b, SETT_A(x))
/* Mode i of a tuple; of a layout, as a layout (a nested mode keeps its profile). Several lead inward: sett_get(x, 1, 0) is
 * mode 0 of mode 1. */
SETT_API sett_arg sett_get_arg_at(sett_site, sett_arg, sett_arg path);
SETT_API sett_layout *sett_get_layout_at(sett_site, const sett_layout *, sett_arg path);
#define sett_get(x, ...) \
    _Generic((x), sett_arg: sett_get_arg_at, sett_layout *: sett_get_layout_at, const sett_layout *: sett_get_layout_at)( \
        SETT_HERE, x, SETT_TUPLE(__VA_ARGS__))
/* The mode of a layout that runs on, as sett_find gives it: the first of static stride 1 that has more than one element. */
SETT_API sett_arg sett_leading_dim_at(sett_site, const sett_layout *);
#define sett_leading_dim(l) sett_leading_dim_at(SETT_HERE, l)
/* The layout as a function. */
SETT_API sett_arg sett_crd2idx_at(sett_site, const sett_layout *, sett_arg coord);
#define sett_crd2idx(coord, l) sett_crd2idx_at(SETT_HERE, l, SETT_A(coord))
/* The coordinate of an index in a shape, (3,(2,3)) and 16: (1,(1,2)); of an index in the image of a
 * bijective layout, one number a top mode: (4,8):(8,1) and 9: (1,1). */
SETT_API sett_arg sett_idx2crd_at(sett_site, sett_build *, sett_arg idx, sett_arg shape);
#define sett_idx2crd(b, idx, shape) sett_idx2crd_at(SETT_HERE, b, SETT_A(idx), SETT_A(shape))
SETT_API sett_arg sett_get_flat_coord_at(sett_site, const sett_layout *, sett_arg idx);
#define sett_get_flat_coord(l, idx) sett_get_flat_coord_at(SETT_HERE, l, SETT_A(idx))
/* The largest run that every access of the layout may be cut into, in elements: CuTe's max_alignment. */
SETT_API sett_arg sett_max_alignment_at(sett_site, const sett_layout *);
#define sett_max_alignment(l) sett_max_alignment_at(SETT_HERE, l)
/* Of static tuples, 1 or 0, -1 where the question has no meaning: every leaf of a below b's; not every leaf of b below a's;
 * the same profile; a's a prefix of b's; b refines a's extents; b's extents divide a's. */
SETT_API int sett_tuple_less_at(sett_site, sett_arg a, sett_arg b);
SETT_API int sett_tuple_leq_at(sett_site, sett_arg a, sett_arg b);
SETT_API int sett_congruent_at(sett_site, sett_arg a, sett_arg b);
SETT_API int sett_weakly_congruent_at(sett_site, sett_arg a, sett_arg b);
SETT_API int sett_compatible_at(sett_site, sett_arg a, sett_arg b);
SETT_API int sett_evenly_divides_at(sett_site, sett_arg a, sett_arg b);
#define sett_tuple_less(a, b) sett_tuple_less_at(SETT_HERE, SETT_A(a), SETT_A(b))
#define sett_tuple_leq(a, b) sett_tuple_leq_at(SETT_HERE, SETT_A(a), SETT_A(b))
#define sett_congruent(a, b) sett_congruent_at(SETT_HERE, SETT_A(a), SETT_A(b))
#define sett_weakly_congruent(a, b) sett_weakly_congruent_at(SETT_HERE, SETT_A(a), SETT_A(b))
#define sett_compatible(a, b) sett_compatible_at(SETT_HERE, SETT_A(a), SETT_A(b))
#define sett_evenly_divides(a, b) sett_evenly_divides_at(SETT_HERE, SETT_A(a), SETT_A(b))
/* Equal as texts: same profile, extents and strides. */
SETT_API bool sett_layout_equal(const sett_layout *, const sett_layout *);

/* ---- text: "(4,(2,3)):(1,(4,8))", snprintf-like ----------------------------------------------- */
SETT_API int sett_layout_str(const sett_layout *, char *buf, size_t size);
SETT_API int sett_arg_str(sett_arg, char *buf, size_t size);
/* What sett_layout_str prints, back: a layout, swizzled or composed too; sett_arg_parse also tuples, tilers and bases.
 * S<3,4,3> alone is as of sett_get_swizzle_portion, S<3,4,3> o L is S<3,4,3> o 0 o L; what CuTe C++ prints is read too,
 * Sw<3,4,3> and Swizzle<3,4,3>, and _8 for 8. In a build that is no kernel's, `?`, `?{div=8}`, `?{i64}` and `?{i64 div=8}`
 * are run-time numbers of which that is known; in a kernel SETT_E_PARSE. Errors show the text and a caret below the column. */
SETT_API sett_layout *sett_layout_parse_at(sett_site, sett_build *, const char *text);
#define sett_layout_parse(b, text) sett_layout_parse_at(SETT_HERE, b, text)
SETT_API sett_arg sett_arg_parse_at(sett_site, sett_build *, const char *text);
#define sett_arg_parse(b, text) sett_arg_parse_at(SETT_HERE, b, text)

#endif /* __cplusplus */
#endif
