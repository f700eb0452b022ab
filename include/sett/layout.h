/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: functions from coordinates to integers, written shape:stride, and their algebra, under CuTe's
 * names.
 *
 *     (4,8):(8,1)       (i,j) -> 8 i + j: a row-major 4 x 8 matrix
 *
 * An integer coordinate is colexicographic: mode 0 varies fastest. Leaves are static (C integers) or dynamic
 * (sett_val *); profiles are always static. Calls take the kinds of operand that CuTe's functions take:
 * sett_composition, sett_slice, sett_zipped_divide ... a layout or a tensor first; sett_size, sett_shape ...
 * also a value or a tuple. */
#ifndef SETT_LAYOUT_H
#define SETT_LAYOUT_H
#include <sett/arg.h>
#include <sett/tuple.h>

#ifndef __cplusplus

/* ---- making ------------------------------------------------------------------- */
/* The layout shape:stride; both have one profile. sett_make_layout(b, shape) alone is compact and
 * colexicographic: (4,8) gives (4,8):(1,4). Given a tuple of layouts, it concatenates them, one mode each. */
SETT_API sett_layout *sett_make_layout_at(sett_site, sett_build *, sett_arg shape, sett_arg stride_or_all);
#define sett_make_layout(...) SETT_CAT(SETT_MAKE_LAYOUT, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_MAKE_LAYOUT2(b, shape) sett_make_layout_at(SETT_HERE, b, SETT_A(shape), SETT_ALL)
#define SETT_MAKE_LAYOUT3(b, shape, stride) \
    sett_make_layout_at(SETT_HERE_OF(#shape), b, SETT_A(shape), SETT_A(stride))
#define SETT_MAKE_LAYOUT4(b, shape, ...) \
    SETT_SAYS(!SETT_BEGINS_(#shape, "{"), SETT_A_TUPLE_IS_, SETT_SAYS(0, \
        "a layout has a shape and a stride, each a number or SETT_T(4, 8)", SETT_HERE))
#define SETT_MAKE_LAYOUT5 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT6 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT7 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT8 SETT_MAKE_LAYOUT4
#define SETT_MAKE_LAYOUT9 SETT_MAKE_LAYOUT4
/* A compact layout, in which the mode with the smallest order is fastest: (32,16,8) and (2,0,1) give strides
 * (128,1,16). A nested order counts over all of its leaves: (4,(8,2)) and (1,(0,2)) give (8,(1,32)). Where
 * the order has a leaf and the shape a tuple, that tuple is colexicographic. The first stride below a leaf of
 * the order is the size of all that has a smaller order, so equal orders share offsets: (2,3,4) and (0,0,1)
 * give (1,1,6). Dynamic orders come last, from left to right. SETT_E_RANK: the order is nested deeper than
 * the shape. */
SETT_API sett_layout *sett_make_ordered_layout_at(sett_site, sett_build *, sett_arg shape, sett_arg order);
#define sett_make_ordered_layout(b, ...) \
    sett_make_ordered_layout_at(SETT_HERE_PAIR(__VA_ARGS__), b, SETT_A(SETT_1ST(__VA_ARGS__)), \
        SETT_A(SETT_2ND(__VA_ARGS__)))
/* A compact layout, the last mode fastest: sett_row_major(b, M, N) is (M,N):(N,1). */
SETT_API sett_layout *sett_row_major_at(sett_site, sett_build *, sett_arg shape);
#define sett_row_major(b, ...) sett_row_major_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* The layout that maps each coordinate to itself, by basis strides: (4,8) gives (4,8):(1@0,1@1). */
SETT_API sett_layout *sett_make_identity_layout_at(sett_site, sett_build *, sett_arg shape);
#define sett_make_identity_layout(b, ...) \
    sett_make_identity_layout_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* The swizzled layout S<bits,base,shift> o 0 o l. bits 0 gives l itself. */
SETT_API sett_layout *sett_make_swizzled_at(sett_site, int bits, int base, int shift, const sett_layout *);
#define sett_make_swizzled(bits, base, shift, l) sett_make_swizzled_at(SETT_HERE, bits, base, shift, l)
/* Given a layout of threads, (M,N) -> thread, and one of each thread's values, (m,n) -> value: the tile that
 * they cover together, and the layout (thread, value) -> element of the tile. (4,32):(32,1) and (4,8):(8,1)
 * give (16,256) and ((32,4),(8,4)):((128,4),(16,1)). Static ones must reach each element of the tile once
 * (SETT_E_ARGUMENT). */
typedef struct sett_tv {
    sett_arg tiler;
    sett_layout *tv;
} sett_tv;
SETT_API sett_tv sett_make_layout_tv_at(sett_site, const sett_layout *thr, const sett_layout *val);
#define sett_make_layout_tv(thr, val) sett_make_layout_tv_at(SETT_HERE, thr, val)

/* ---- algebra with one right operand: on layouts and tensors ----------------------------- */
/* The right operand of each is a layout, a tiler, a shape or an integer, as in CuTe. */
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
        sett_tensor *: sett_##op##_tensor_at, const sett_tensor *: sett_##op##_tensor_at, \
            sett_build *: sett_##op##_tuple_at)
/* R = A o B: R(c) = A(B(c)) for each coordinate c of B. SETT_E_DIVIDE: the extents of A and the strides of B
 * do not divide each other, so that there is no such layout. What depends on dynamic leaves is checked by
 * each launch (SETT_E_DIVIDE with this line) if symbols and integer scalars decide it and the call is outside
 * of every sett_if; else it is the caller's promise. B may be composed: A o (I o off o L) is (A o I) o off o
 * L. B may be swizzled if A's extents and strides are powers of two and keep the swizzled bits together:
 *     (4,8):(16,1) o S<1,0,2>o0o(4,8):(1,4)  is  S<1,0,-4>o0o(4,8):(16,1) */
#define sett_composition(x, ...) \
    SETT_PICK(composition, x)(SETT_HERE_LAST(__VA_ARGS__), x, SETT_A(SETT_1ST(__VA_ARGS__)))
/* Cuts into tiles; the number of tiles is rounded up. (8,16):(16,1) by (2,4) gives
 * - logical: ((2,4),(4,4)):((16,32),(1,4)), each mode as (inside the tile, which tile);
 * - zipped: ((2,4),(4,4)):((16,1),(32,4)), the tile, then which tile;
 * - tiled: ((2,4),4,4), flat: (2,4,4,4), the same modes with fewer parentheses. */
#define sett_logical_divide(x, ...) \
    SETT_PICK(logical_divide, x)(SETT_HERE_LAST(__VA_ARGS__), x, SETT_A(SETT_1ST(__VA_ARGS__)))
#define sett_zipped_divide(x, ...) \
    SETT_PICK(zipped_divide, x)(SETT_HERE_LAST(__VA_ARGS__), x, SETT_A(SETT_1ST(__VA_ARGS__)))
#define sett_tiled_divide(x, ...) \
    SETT_PICK(tiled_divide, x)(SETT_HERE_LAST(__VA_ARGS__), x, SETT_A(SETT_1ST(__VA_ARGS__)))
#define sett_flat_divide(x, ...) \
    SETT_PICK(flat_divide, x)(SETT_HERE_LAST(__VA_ARGS__), x, SETT_A(SETT_1ST(__VA_ARGS__)))
/* slice keeps the modes whose coordinate is ALL, dice those whose coordinate is not. The other coordinates of
 * a slice move a tensor's start, or the offset inside of a swizzled or composed layout: (_,1) of S<1,0,2> o 0
 * o (4,4):(1,4) is S<1,0,2> o 4 o (4):(1). */
#define sett_slice(x, ...) \
    SETT_PICK_OR_TUPLE(slice, x)(SETT_HERE_OF(#__VA_ARGS__), x, SETT_TUPLE(__VA_ARGS__))
#define sett_dice(x, ...) SETT_PICK_OR_TUPLE(dice, x)(SETT_HERE_OF(#__VA_ARGS__), x, SETT_TUPLE(__VA_ARGS__))
/* A slice, and beside it the offset at which it starts: (_,1) of (4,4):(1,4) is (4):(1) and 4. A swizzled or
 * composed layout takes the start inside, and the offset is 0. */
typedef struct sett_layout_offset {
    sett_layout *layout;
    sett_arg offset;
} sett_layout_offset;
SETT_API sett_layout_offset sett_slice_and_offset_at(sett_site, const sett_layout *, sett_arg coord);
#define sett_slice_and_offset(l, ...) \
    sett_slice_and_offset_at(SETT_HERE_OF(#__VA_ARGS__), l, SETT_TUPLE(__VA_ARGS__))
/* The top modes with these indices, in this order. */
#define sett_select(x, ...) SETT_PICK_OR_TUPLE(select, x)(SETT_HERE, x, SETT_T(__VA_ARGS__))
/* The same function of an integer coordinate, with the fewest modes: (2,(1,6)):(1,(6,2)) gives 12:1. Modes
 * are joined where it is known while building that they continue each other. sett_coalesce_by does so below
 * each leaf of a profile, whose numbers do not matter, and keeps the profile: by T(1, 1) each of two modes by
 * itself, ((2,2),(4,8)):((1,2),(4,16)) gives (4,32):(1,4). */
#define sett_coalesce(x) SETT_PICK(coalesce, x)(SETT_HERE, x, SETT_ALL)
#define sett_coalesce_by(x, ...) \
    SETT_PICK(coalesce, x)(SETT_HERE_LAST(__VA_ARGS__), x, SETT_A(SETT_1ST(__VA_ARGS__)))

/* ---- algebra on layouts alone -------------------------------------------------------------- */
/* What l leaves free in [0, size(cotarget)), in order: 4:1 and 24 give 6:4; 4:2 and 24 give (2,3):(1,8).
 * cotarget ALL has no end: the result's last mode then has extent 1 and the stride at which it would go on,
 * 4:2 gives (2,1):(1,8). Each stride of l, even of an extent that may be 1, must be at least what the smaller
 * strides cover: SETT_E_DIVIDE here, or at launch. */
SETT_API sett_layout *sett_complement_at(sett_site, const sett_layout *, sett_arg cotarget);
#define sett_complement(l, ...) \
    sett_complement_at(SETT_HERE_LAST(__VA_ARGS__), l, SETT_A(SETT_1ST(__VA_ARGS__)))
/* The block l, and its copies in the order of the tiler, as two modes: (2,2):(2,1) and 3 give
 * ((2,2),3):((2,1),4).
 * SETT_E_DIVIDE: copies would share offsets. */
SETT_API sett_layout *sett_logical_product_at(sett_site, const sett_layout *, sett_arg tiler);
#define sett_logical_product(l, ...) \
    sett_logical_product_at(SETT_HERE_LAST(__VA_ARGS__), l, SETT_A(SETT_1ST(__VA_ARGS__)))
/* Products by mode, as ((block),(tiler)); zipped, tiled and flat nest their modes as the divides do. */
SETT_API sett_layout *sett_zipped_product_at(sett_site, const sett_layout *, sett_arg tiler);
SETT_API sett_layout *sett_tiled_product_at(sett_site, const sett_layout *, sett_arg tiler);
SETT_API sett_layout *sett_flat_product_at(sett_site, const sett_layout *, sett_arg tiler);
#define sett_zipped_product(l, ...) \
    sett_zipped_product_at(SETT_HERE_LAST(__VA_ARGS__), l, SETT_A(SETT_1ST(__VA_ARGS__)))
#define sett_tiled_product(l, ...) \
    sett_tiled_product_at(SETT_HERE_LAST(__VA_ARGS__), l, SETT_A(SETT_1ST(__VA_ARGS__)))
#define sett_flat_product(l, ...) \
    sett_flat_product_at(SETT_HERE_LAST(__VA_ARGS__), l, SETT_A(SETT_1ST(__VA_ARGS__)))
/* Products mode by mode: each mode of the result is (block, tiler), or for the raked product (tiler, block).
 * (2,5):(5,1) and (3,4):(1,3) give ((2,3),(5,4)):((5,10),(1,30)), raked ((3,2),(4,5)):((10,5),(30,1)). If the
 * first of a pair is one number, the second keeps its nesting: 4:1 and (8):(1) give ((4,(8))):((1,(4))).
 * SETT_E_RANK: the first is a tuple of one, and the second a number. */
SETT_API sett_layout *sett_blocked_product_at(sett_site, const sett_layout *block, const sett_layout *tiler);
SETT_API sett_layout *sett_raked_product_at(sett_site, const sett_layout *block, const sett_layout *tiler);
#define sett_blocked_product(block, tiler) sett_blocked_product_at(SETT_HERE, block, tiler)
#define sett_raked_product(block, tiler) sett_raked_product_at(SETT_HERE, block, tiler)
/* The block repeated until it fills the shape. Copies are in colexicographic order (ALL), or in `order`. */
SETT_API sett_layout *sett_tile_to_shape_at(sett_site, const sett_layout *block, sett_arg shape,
    sett_arg order_or_all);
#define sett_tile_to_shape(block, ...) \
    sett_tile_to_shape_at(SETT_HERE_PAIR(__VA_ARGS__), block, SETT_A(SETT_1ST(__VA_ARGS__)), \
        SETT_A(SETT_2ND(__VA_ARGS__)))
/* filter_zeros: modes of stride 0 get extent 1. filter: coalesced after that. */
SETT_API sett_layout *sett_filter_zeros_at(sett_site, const sett_layout *);
SETT_API sett_layout *sett_filter_at(sett_site, const sett_layout *);
#define sett_filter_zeros(l) sett_filter_zeros_at(SETT_HERE, l)
#define sett_filter(l) sett_filter_at(SETT_HERE, l)
/* L o right_inverse(L) is the identity on its size; left_inverse(L) o L is the identity on L's domain. Both
 * inverses of (4,8):(8,1) are (8,4):(4,1). Extents must be static; the left inverse also needs static
 * strides, none of them negative. The right inverse leaves out modes of negative stride: that of 4:-1 is 1:0.
 * */
SETT_API sett_layout *sett_right_inverse_at(sett_site, const sett_layout *);
SETT_API sett_layout *sett_left_inverse_at(sett_site, const sett_layout *);
#define sett_right_inverse(l) sett_right_inverse_at(SETT_HERE, l)
#define sett_left_inverse(l) sett_left_inverse_at(SETT_HERE, l)
/* A compact layout with l's extents, in the order of l's strides (stride 0 and extent 1 get stride 0): one
 * for memory that holds what l shows. */
SETT_API sett_layout *sett_make_layout_like_at(sett_site, const sett_layout *);
#define sett_make_layout_like(l) sett_make_layout_like_at(SETT_HERE, l)
/* sett_filter below each leaf of a profile, as sett_coalesce_by. */
SETT_API sett_layout *sett_filter_by_at(sett_site, const sett_layout *, sett_arg profile);
#define sett_filter_by(l, profile) sett_filter_by_at(SETT_HERE, l, SETT_A(profile))
/* A layout of the coordinates that L maps to 0. */
SETT_API sett_layout *sett_nullspace_at(sett_site, const sett_layout *);
#define sett_nullspace(l) sett_nullspace_at(SETT_HERE, l)
/* The longest contiguous run that both layouts have in the same order, and its size. */
SETT_API sett_layout *sett_max_common_layout_at(sett_site, const sett_layout *, const sett_layout *);
SETT_API sett_arg sett_max_common_vector_at(sett_site, const sett_layout *, const sett_layout *);
#define sett_max_common_layout(a, b) sett_max_common_layout_at(SETT_HERE, a, b)
#define sett_max_common_vector(a, b) sett_max_common_vector_at(SETT_HERE, a, b)
/* group_modes makes one mode of the modes [begin,end); flatten makes a mode of each leaf: sett_flatten(x) of
 * a layout or a tensor, sett_flatten(b, x) of a tuple: (4,(2,3)) gives (4,2,3). */
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
    _Generic((x), sett_layout *: sett_##op##_at, const sett_layout *: sett_##op##_at, \
        sett_tensor *: sett_##op##_tensor_at, \
        const sett_tensor *: sett_##op##_tensor_at)
/* append adds a mode at the end, prepend at the front: sett_append(l, mode). With a rank they add copies of
 * the mode until there are so many: sett_append(l, mode, rank). Of tuples: sett_append(b, x, mode),
 * sett_append(b, x, mode, rank). sett_append_ones(l, rank) adds modes 1:0 until there are so many,
 * sett_append_ones(b, x, rank) leaves 1 to a tuple. */
SETT_API sett_layout *sett_append_at(sett_site, const sett_layout *, const sett_layout *mode);
SETT_API sett_layout *sett_prepend_at(sett_site, const sett_layout *, const sett_layout *mode);
SETT_API sett_layout *sett_append_upto_at(sett_site, const sett_layout *, sett_arg mode_or_all,
    sett_arg rank);
SETT_API sett_layout *sett_prepend_upto_at(sett_site, const sett_layout *, sett_arg mode_or_all,
    sett_arg rank);
#define sett_append(...) SETT_CAT(SETT_APPEND, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_APPEND2(l, mode) sett_append_at(SETT_HERE, l, mode)
#define SETT_APPEND3(x, y, z) \
    _Generic((x), sett_build *: sett_append_tuple_at, default: sett_append_upto_at)(SETT_HERE, x, SETT_A(y), \
        SETT_A(z))
#define SETT_APPEND4(b, x, mode, rank) sett_append_tuple_upto_at(SETT_HERE, b, SETT_A(x), SETT_A(mode), rank)
#define sett_prepend(...) SETT_CAT(SETT_PREPEND, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_PREPEND2(l, mode) sett_prepend_at(SETT_HERE, l, mode)
#define SETT_PREPEND3(x, y, z) \
    _Generic((x), sett_build *: sett_prepend_tuple_at, default: sett_prepend_upto_at)(SETT_HERE, x, \
        SETT_A(y), SETT_A(z))
#define SETT_PREPEND4(b, x, mode, rank) \
    sett_prepend_tuple_upto_at(SETT_HERE, b, SETT_A(x), SETT_A(mode), rank)
#define sett_append_ones(...) SETT_CAT(SETT_APPEND_ONES, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_APPEND_ONES2(l, rank) sett_append_upto_at(SETT_HERE, l, SETT_ALL, SETT_A(rank))
#define SETT_APPEND_ONES3(b, x, rank) sett_append_tuple_upto_at(SETT_HERE, b, SETT_A(x), sett_arg_i(1), rank)
#define sett_prepend_ones(...) SETT_CAT(SETT_PREPEND_ONES, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
#define SETT_PREPEND_ONES2(l, rank) sett_prepend_upto_at(SETT_HERE, l, SETT_ALL, SETT_A(rank))
#define SETT_PREPEND_ONES3(b, x, rank) \
    sett_prepend_tuple_upto_at(SETT_HERE, b, SETT_A(x), sett_arg_i(1), rank)
/* The composed layout R(c) = inner(offset + outer(c)). */
SETT_API sett_layout *sett_make_composed_layout_at(sett_site, const sett_layout *inner, sett_arg offset,
    const sett_layout *outer);
#define sett_make_composed_layout(inner, offset, outer) \
    sett_make_composed_layout_at(SETT_HERE, inner, SETT_A(offset), outer)
/* The layout in units of new_bits instead of old_bits: (32,4):(1,32) from 8 to 32 bits is (8,4):(1,8). A
 * contiguous mode needs a static stride: dynamic ones are taken to be whole units of both, and not 1.
 * Narrower units need such a mode, if only of one element, to hold the parts of each; wider ones need extents
 * and strides that are whole units, or parts that divide one (SETT_E_DIVIDE). */
SETT_API sett_layout *sett_recast_layout_at(sett_site, int new_bits, int old_bits, const sett_layout *);
#define sett_recast_layout(new_bits, old_bits, l) sett_recast_layout_at(SETT_HERE, new_bits, old_bits, l)

/* The parts of S<..> o offset o layout: the swizzle alone, over coordinates from 0 to 2^(bits that it reads),
 * and the layout alone. Of a plain layout the first is a swizzle that changes nothing, the second the layout.
 * */
SETT_API sett_layout *sett_get_swizzle_portion_at(sett_site, const sett_layout *);
SETT_API sett_layout *sett_get_nonswizzle_portion_at(sett_site, const sett_layout *);
#define sett_get_swizzle_portion(l) sett_get_swizzle_portion_at(SETT_HERE, l)
#define sett_get_nonswizzle_portion(l) sett_get_nonswizzle_portion_at(SETT_HERE, l)
/* The multicast mask of blocks that share a tile: bit i is set for each number i that the layout reaches
 * along one mode from a coordinate. The layout is static, of at most 16 numbers. (2,4):(1,2) at (1,2) along
 * mode 1: 0xaa. The coordinate may be dynamic; its leaf of that mode is ignored. SETT_E_RANGE: a static leaf
 * is outside its extent. */
SETT_API sett_arg sett_make_layout_image_mask_at(sett_site, const sett_layout *, sett_arg coord, int mode);
#define sett_make_layout_image_mask(l, coord, mode) \
    sett_make_layout_image_mask_at(SETT_HERE, l, SETT_A(coord), mode)

/* ---- questions --------------------------------------------------------------------------------- */
/* Questions to a layout, tensor, value or tuple: sett_shape(x) and sett_stride(x) give tuples, sett_size(x)
 * and sett_cosize(x) integers. A value or a tuple has no strides (SETT_E_ARGUMENT), and its cosize is its
 * size. */
#define SETT_GETTERS(X) X(shape) X(stride) X(size) X(cosize)
#define SETT_GETTER_DECLARE(op) \
    SETT_API sett_arg sett_##op##_layout(const sett_layout *); \
    SETT_API sett_arg sett_##op##_tensor(const sett_tensor *); \
    SETT_API sett_arg sett_##op##_val(const sett_val *); \
    SETT_API sett_arg sett_##op##_arg(sett_arg);
SETT_GETTERS(SETT_GETTER_DECLARE)
#define SETT_ASK(op, x) \
    _Generic((x), sett_layout *: sett_##op##_layout, const sett_layout *: sett_##op##_layout, \
        sett_tensor *: sett_##op##_tensor, const sett_tensor *: sett_##op##_tensor, \
            sett_val *: sett_##op##_val, \
        const sett_val *: sett_##op##_val, sett_arg: sett_##op##_arg)(x)
#define sett_shape(x) SETT_ASK(shape, x)
#define sett_stride(x) SETT_ASK(stride, x)
#define sett_size(x) SETT_ASK(size, x)
#define sett_cosize(x) SETT_ASK(cosize, x)
/* The number of top modes, and the depth of nesting, as C numbers. A scalar value has 0 and 1, as the tuple
 * (). Poison has 1. */
SETT_API int sett_rank_arg(sett_arg), sett_rank_layout(const sett_layout *),
    sett_rank_tensor(const sett_tensor *), sett_rank_val(const sett_val *);
SETT_API int sett_depth_arg(sett_arg), sett_depth_layout(const sett_layout *),
    sett_depth_tensor(const sett_tensor *), sett_depth_val(const sett_val *);
#define sett_rank(x) SETT_ASK(rank, x)
#define sett_depth(x) SETT_ASK(depth, x)
/* A static leaf as a C integer. SETT_E_STATIC, and the result is 1: x is dynamic or a tuple. */
SETT_API int64_t sett_static_at(sett_site, sett_build *, sett_arg);
#define sett_static(b, x) sett_static_at(SETT_HERE, b, SETT_A(x))
/* Mode i of a tuple, or of a layout as a layout (a nested mode keeps its profile). More indices go deeper:
 * sett_get(x, 1, 0) is mode 0 of mode 1. */
SETT_API sett_arg sett_get_arg_at(sett_site, sett_arg, sett_arg path);
SETT_API sett_layout *sett_get_layout_at(sett_site, const sett_layout *, sett_arg path);
#define sett_get(x, ...) \
    _Generic((x), sett_arg: sett_get_arg_at, sett_layout *: sett_get_layout_at, \
        const sett_layout *: sett_get_layout_at)( \
        SETT_HERE, x, SETT_TUPLE(__VA_ARGS__))
/* The contiguous mode of a layout, as sett_find gives it: the first one of static stride 1 that has more than
 * one element. */
SETT_API sett_arg sett_leading_dim_at(sett_site, const sett_layout *);
#define sett_leading_dim(l) sett_leading_dim_at(SETT_HERE, l)
/* The layout as a function: the offset of a coordinate. */
SETT_API sett_arg sett_crd2idx_at(sett_site, const sett_layout *, sett_arg coord);
#define sett_crd2idx(coord, l) sett_crd2idx_at(SETT_HERE, l, SETT_A(coord))
/* idx2crd: the coordinate of an index in a shape: 16 in (3,(2,3)) is (1,(1,2)). get_flat_coord: the
 * coordinate that a bijective layout maps to an index, one number for each top mode: 9 of (4,8):(8,1) is
 * (1,1). */
SETT_API sett_arg sett_idx2crd_at(sett_site, sett_build *, sett_arg idx, sett_arg shape);
#define sett_idx2crd(b, idx, shape) sett_idx2crd_at(SETT_HERE, b, SETT_A(idx), SETT_A(shape))
SETT_API sett_arg sett_get_flat_coord_at(sett_site, const sett_layout *, sett_arg idx);
#define sett_get_flat_coord(l, idx) sett_get_flat_coord_at(SETT_HERE, l, SETT_A(idx))
/* The longest run of elements that every access of the layout can be cut into: CuTe's max_alignment. */
SETT_API sett_arg sett_max_alignment_at(sett_site, const sett_layout *);
#define sett_max_alignment(l) sett_max_alignment_at(SETT_HERE, l)
/* Questions about static tuples: 1 or 0, or -1 where the question has no meaning.
 * tuple_less: is every leaf of a below b's? tuple_leq: is tuple_less(b, a) false?
 * congruent: do they have one profile? weakly_congruent: is a's profile a prefix of b's?
 * compatible: does b refine a's extents? evenly_divides: do b's extents divide a's? */
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
/* Do both have the same profile, extents and strides? */
SETT_API bool sett_layout_equal(const sett_layout *, const sett_layout *);

/* ---- text: "(4,(2,3)):(1,(4,8))", snprintf-like ----------------------------------------------- */
SETT_API int sett_layout_str(const sett_layout *, char *buf, size_t size);
SETT_API int sett_arg_str(sett_arg, char *buf, size_t size);
/* Reads what sett_layout_str writes: a layout, also swizzled or composed. sett_arg_parse reads tuples, tilers
 * and bases too. S<3,4,3> alone is a layout as of sett_get_swizzle_portion; S<3,4,3> o L is S<3,4,3> o 0 o L.
 * CuTe C++'s spellings are read: Sw<3,4,3>, Swizzle<3,4,3>, and _8 for 8. `?`, `?{div=8}`, `?{i64}` and
 * `?{i64 div=8}` are dynamic numbers of which that is known; they need a build that is no kernel's (else
 * SETT_E_PARSE). Errors show the text, with a caret below the column. */
SETT_API sett_layout *sett_layout_parse_at(sett_site, sett_build *, const char *text);
#define sett_layout_parse(b, text) sett_layout_parse_at(SETT_HERE, b, text)
SETT_API sett_arg sett_arg_parse_at(sett_site, sett_build *, const char *text);
#define sett_arg_parse(b, text) sett_arg_parse_at(SETT_HERE, b, text)

#endif /* __cplusplus */
#endif
