/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: memory (or an origin of coordinates) seen through a layout.
 *
 * A tensor is a view: slicing, dividing and composing make new views and move no data. sett_load reads a
 * whole tensor into a value, sett_store writes one; both need a static shape. The width of each access, up to
 * 16 bytes, follows from the parameter's alignment and from the divisibility of strides and offsets. The
 * kernel's report says what made an access narrower.
 *
 *     A (M,N):(N,1) of f16, .align = 16, N a multiple of 8
 *     sett_local_tile(A, T(16, 256), T(i, j))     (16,256):(N,1), starts at 16 N i + 256 j
 *     composed with a TV layout, sliced at a thread: ((8,4)):((1,N)): four accesses of 16 bytes
 *
 * Strides and offsets count elements. An integer coordinate of several modes is colexicographic. A static
 * coordinate outside its extent is SETT_E_RANGE. A Boolean takes one byte, 0 or 1. Elements narrower than a
 * byte are packed, the lowest bits first: two f4 or i4 in one byte, four f6 in three bytes. A load may take
 * any of them. A store to gmem or smem must write such units whole, under one predicate each, else it is
 * SETT_E_ALIGN: another thread may write the rest of the unit. */
#ifndef SETT_TENSOR_H
#define SETT_TENSOR_H
#include <sett/arg.h>
#include <sett/layout.h>
#include <sett/value.h>

typedef enum sett_space {
    SETT_GMEM = 1, SETT_SMEM, SETT_RMEM, SETT_DSMEM, SETT_TMEM, SETT_GENERIC, SETT_COORD
} sett_space;

#ifndef __cplusplus

/* A tensor of coordinates: its element c is c itself. shape may be dynamic. Divided, composed and sliced as
 * the data is, it says for each element of a partition where in the whole that element lies. */
SETT_API sett_tensor *sett_identity_tensor_at(sett_site, sett_build *, sett_arg shape);
#define sett_identity_tensor(b, ...) \
    sett_identity_tensor_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* Registers of this thread, up to 65536 elements, undefined at first. shape is a static shape or a static
 * layout. An index that is known only at run time puts the whole tensor into local memory, and the report
 * says so. */
SETT_API sett_tensor *sett_make_rmem_tensor_at(sett_site, sett_build *, sett_dtype, sett_arg shape);
#define sett_make_rmem_tensor(b, dtype, ...) \
    sett_make_rmem_tensor_at(SETT_HERE_OF(#__VA_ARGS__), b, dtype, SETT_TUPLE(__VA_ARGS__))
/* Shared memory of the block. shape is a static shape (compact, mode 0 fastest) or a static layout, swizzled
 * or not.
 * align: in bytes, a power of two up to 1024; 0: 16. The launch asks for the sum of all such tensors, past 48
 * KiB too. Compiling for a target that has less is SETT_E_LIMIT, with the line and bytes of each tensor (99
 * KiB on sm_86 and sm_89, 163 on sm_80 and sm_87, 227 on sm_90 and sm_100).
 *
 *     sett_make_smem_tensor(b, SETT_F32, 256, 16, .name = "sums")  sums (256):(1) in reports,
 *         else smem@kernel.c:12
 *
 * Extents and strides may also be made of symbols and integer scalars, as the grid is. Each launch then
 * computes the size (CuTe's dynamic shared memory). Such tensors lie behind those of a static size, in the
 * order in which they were made. Their layout is shape:stride, swizzled or not, with strides of 0 or more. A
 * symbol that no tensor argument supplies is an argument of its own, behind all others, so that the caller of
 * a launch chooses the size:
 *
 *     sett_val *n = sett_sym(b, "n");   sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, n, 16);   (n):(1)
 *     sett_launch(k, s, &err, &X, 4096)                            4096 floats
 *
 * A launch that asks for more than the device has is SETT_E_LIMIT. The CPU engine checks that each access
 * stays inside of what the launch asked for. */
typedef struct sett_smem_options {
    size_t size;
    int align;
    const char *name; /* in messages and reports; NULL: `smem` and the line of the call */
} sett_smem_options;
SETT_API sett_tensor *sett_make_smem_tensor_at(
    sett_site, sett_build *, sett_dtype, sett_arg shape, const sett_smem_options *);
#define sett_make_smem_tensor(b, dtype, shape, ...) \
    sett_make_smem_tensor_at(SETT_HERE_ALIGNED(#shape, #__VA_ARGS__, \
        "sett_make_smem_tensor takes it behind the layout: 16, 1024 of a swizzle of 128 bytes"), b, dtype, \
        SETT_A(shape), &(sett_smem_options){.size = sizeof(sett_smem_options), .align = __VA_ARGS__})
#define SETT_HERE_ALIGNED(shape, align, text) \
    SETT_SAYS(sizeof(align) > 1 && !SETT_BEGINS_(align, "."), \
    "which alignment? " text, \
        SETT_HERE_OF(shape))
/* Global memory at an address that the kernel has, a Uint64: of an array of pointers, say, or of a table of
 * pages. shape is a shape (compact, mode 0 fastest) or a layout, of integers, symbols and values.
 * align: in bytes, a power of two up to 65536; 0: an element's. The caller promises that the address is a
 * multiple of it, and that the memory is there; a launch cannot check either. The CPU engine checks the
 * alignment at each access, and that the access stays inside of the allocation (sett_alloc) of the address.
 * Offsets have 64 bits. No tensor map can be made of such a tensor (tma.h).
 *
 *     sett_tensor *P = sett_param(b, "P", SETT_U64, sett_make_layout(b, L));     addresses of L matrices
 *     sett_layout *l = sett_make_layout(b, T(M, K), T(LA, 1));
 *     sett_tensor *A = sett_make_gmem_tensor(b, SETT_BF16, sett_at(P, batch), l, 16);
 *
 * Symbols that no argument's layout names, as M, K and LA here, are integers behind all arguments, in the
 * order in which they are declared: with them stand those before the last of them that a layout names. */
typedef struct sett_gmem_options {
    size_t size;
    int align;
    const char *name; /* in messages and reports; NULL: `gmem` and the line of the call */
} sett_gmem_options;
SETT_API sett_tensor *sett_make_gmem_tensor_at(
    sett_site, sett_build *, sett_dtype, const sett_val *address, sett_arg shape, const sett_gmem_options *);
#define sett_make_gmem_tensor(b, dtype, address, shape, ...) \
    sett_make_gmem_tensor_at(SETT_HERE_ALIGNED(#shape, #__VA_ARGS__, \
        "sett_make_gmem_tensor takes it behind the layout: 16, or 0 for that of an element"), b, dtype, \
        address, SETT_A(shape), &(sett_gmem_options){.size = sizeof(sett_gmem_options), .align = __VA_ARGS__})
/* Other elements in the same bytes of shared memory: a view from the first element of t on, of a static shape
 * or a static layout. Nothing waits: a barrier must be between the last use of one view and the first of the
 * other, and what copies or products still have under way there must have ended.
 *
 *     sett_tensor *C = sett_smem_alias(A, SETT_BF16, sett_smem_layout(b, SETT_BF16, SETT_K_MAJOR, 128, 128));
 *
 * SETT_E_LIMIT: it has more bytes than t. SETT_E_ALIGN: t is not known to begin where an element, or the
 * pattern of a swizzle (1024 bytes of one of 128), may begin. SETT_E_SPACE: t is not in shared memory of the
 * block, or holds mbarriers.
 * SETT_E_STATIC: t has no static layout. */
SETT_API sett_tensor *sett_smem_alias_at(sett_site, const sett_tensor *t, sett_dtype, sett_arg shape);
#define sett_smem_alias(t, dtype, ...) \
    sett_smem_alias_at(SETT_HERE_OF(#__VA_ARGS__), t, dtype, SETT_TUPLE(__VA_ARGS__))
/* An rmem tensor with the static shape of another tensor, compact in the order of its strides (CuTe's
 * make_layout_like: modes of extent 1 or stride 0 get stride 0, dynamic strides come last). dtype 0: the
 * other tensor's.
 *     (4,6,2):(6,1,24) keeps its strides, (4,2):(N,1) gives (4,2):(2,1). */
SETT_API sett_tensor *sett_make_fragment_like_at(sett_site, const sett_tensor *, sett_dtype);
#define sett_make_fragment_like(t, dtype) sett_make_fragment_like_at(SETT_HERE, t, dtype)
/* A mutable scalar: a one-element rmem tensor. sett_at(v, 0) reads, sett_set(v, x, 0) writes. */
SETT_API sett_tensor *sett_var_at(sett_site, sett_build *, sett_dtype, sett_arg init);
#define sett_var(b, dtype, init) sett_var_at(SETT_HERE, b, dtype, SETT_A(init))

/* The tile at `coord` of a tensor that is cut into tiles: zipped_divide by tiler, then the rest modes are
 * sliced at coord. Leaves of coord that are ALL, or that coord lacks, keep their rest mode.
 *     (256,96), tiler (32,8), coord (6,_): (32,8,12), starts at row 192 */
SETT_API sett_tensor *sett_local_tile_at(sett_site, const sett_tensor *, sett_arg tiler, sett_arg coord);
/* With a projection only those modes of tiler and coord count where proj is not ALL. With tiler
 * (BLK_M,BLK_N,BLK_K) and coord (m,n,k), A takes T(1, ALL, 1), B T(ALL, 1, 1) and C T(1, 1, ALL). proj has 1
 * or ALL for each mode of the tiler, else SETT_E_RANK. A coordinate of several modes is one argument, T(i,
 * j). */
SETT_API sett_tensor *sett_local_tile_proj_at(sett_site, const sett_tensor *, sett_arg tiler, sett_arg coord,
    sett_arg proj);
#define sett_local_tile(t, tiler, ...) \
    SETT_CAT(SETT_LOCAL_TILE, SETT_NARG(__VA_ARGS__))(SETT_HERE_TILE(#tiler, #__VA_ARGS__), t, tiler, \
        __VA_ARGS__)
#define SETT_HERE_TILE(tiler, coord) \
    SETT_SAYS(!SETT_BEGINS_(tiler, "{") && !SETT_BEGINS_(coord, "{"), SETT_A_TUPLE_IS_, SETT_HERE)
#define SETT_LOCAL_TILE1(site, t, tiler, coord) sett_local_tile_at(site, t, SETT_A(tiler), SETT_A(coord))
#define SETT_LOCAL_TILE2(site, t, tiler, coord, proj) \
    sett_local_tile_proj_at(site, t, SETT_A(tiler), SETT_A(coord), SETT_A(proj))
#define SETT_LOCAL_TILE3(site, t, tiler, coord, ...) SETT_LOCAL_TILE1(SETT_TILE_IS_(site), t, tiler, coord)
#define SETT_LOCAL_TILE4 SETT_LOCAL_TILE3
#define SETT_LOCAL_TILE5 SETT_LOCAL_TILE3
#define SETT_LOCAL_TILE6 SETT_LOCAL_TILE3
#define SETT_TILE_IS_(site) \
    ((void)(site), SETT_SAYS(0, \
        "a tile has a tiler, a coordinate and perhaps a projection; a tuple is SETT_T(i, j)", SETT_HERE))
/* What thread `idx` of a static thread layout gets of a tensor: zipped_divide by the layout's shape, then
 * sliced at the thread's coordinate. (16,24) among (4,8):(8,1): each thread gets (4,3), and thread t starts
 * at (t/8, t%8). */
SETT_API sett_tensor *sett_local_partition_at(sett_site, const sett_tensor *, const sett_layout *threads,
    sett_arg idx);
#define sett_local_partition(t, threads, ...) \
    SETT_CAT(SETT_LOCAL_PARTITION, SETT_NARG(__VA_ARGS__))(t, threads, __VA_ARGS__)
#define SETT_LOCAL_PARTITION1(t, threads, idx) sett_local_partition_at(SETT_HERE, t, threads, SETT_A(idx))
/* With a projection, 1 or ALL for each mode of the thread layout, the tensor is divided among the modes where
 * it is not ALL. Threads whose coordinates differ only in the other modes get the same part. */
SETT_API sett_tensor *sett_local_partition_proj_at(sett_site, const sett_tensor *, const sett_layout *threads,
    sett_arg idx, sett_arg proj);
#define SETT_LOCAL_PARTITION2(t, threads, idx, proj) \
    sett_local_partition_proj_at(SETT_HERE, t, threads, SETT_A(idx), SETT_A(proj))
/* The same memory as elements of another type; strides scale as in sett_recast_layout. SETT_E_DIVIDE: the
 * tensor does not start at a whole element of the wider type. */
SETT_API sett_tensor *sett_recast_tensor_at(sett_site, const sett_tensor *, sett_dtype);
#define sett_recast_tensor(t, dtype) sett_recast_tensor_at(SETT_HERE, t, dtype)
/* The view with the same layout that starts at `coord`. Nothing is checked against the extents. */
SETT_API sett_tensor *sett_domain_offset_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_domain_offset(t, ...) \
    sett_domain_offset_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
/* For rows whose alignment only a launch knows, such as those of an odd row stride: a view whose alignment is
 * known. The view begins `skip` elements before the row t, at the nearest multiple of `bytes` (a power of
 * two, up to 16) at or below the row's first element, and ends where the row ends. Element k of the row is
 * element k + skip of the view. Tiles of the view are aligned; a predicate leaves out the elements of a tile
 * that lie before or after the row:
 *
 *     sett_peeled x = sett_peel(sett_slice(X, row, ALL), 16);          X ?:1 of N+skip elements
 *     sett_val *in = sett_and(sett_elem_at_least(crd, T1(x.skip)), sett_elem_less(crd, T1(sett_add(N,
 *         x.skip))));
 *
 * Here crd are the coordinates of the tile in x.tensor. An access that lies inside the row is then wide,
 * without a test of its alignment; the two at the ends of the row go element by element. Rows of one layout
 * have one skip, so that X, Y and their sum can be peeled alike. Peeling makes each row up to bytes - 1 bytes
 * longer, which pays for rows many times as long.
 * t has one mode, of stride 1. SETT_E_ALIGN: its memory is not known to be aligned to `bytes` (.align).
 * SETT_E_DTYPE: its elements are no whole bytes. Of a row that is known to be aligned, skip is 0. */
typedef struct sett_peeled {
    sett_tensor *tensor;
    sett_arg skip; /* elements */
} sett_peeled;
SETT_API sett_peeled sett_peel_at(sett_site, const sett_tensor *, int bytes);
#define sett_peel(t, bytes) sett_peel_at(SETT_HERE, t, bytes)

/* ---- access ---------------------------------------------------------------------------- */
/* sett_load gives a value of the tensor's shape. sett_store takes a scalar for all elements, or a value of
 * the same extents in the same order: nesting and extents of 1 do not count, and an extent of either may be
 * several of the other, whose product it is. ((2,2,12),1) fits (2,2,(4,3)), and (2,4) does not fit (4,2).
 * Element i is stored at element i. Its type is the tensor's, or a narrower one of the same kind (f16 into
 * f32); other types are SETT_E_DTYPE, see sett_to. A C number becomes a scalar of the tensor's type;
 * SETT_E_RANGE: the type cannot hold it. Where several elements share one address, a store leaves one of
 * their values, and which one is not specified.
 *
 * .pred: a Boolean value that broadcasts to the tensor, or one of the same size in another shape, element i
 * for element i (colexicographic). Where it is false nothing is accessed, and a load gives .fill. Its origin
 * decides the width of the access:
 * - a scalar keeps the access whole;
 * - one of sett_elem_less keeps its coordinates. An access whose elements are provably all inside, or all
 * outside, costs one test and stays wide. Any other is wide if at run time all of its elements are inside
 * (and aligned, where that is not proven), and goes element by element if not. sett_and of such a predicate
 * with a scalar, or with another such predicate of its shape, is handled alike;
 * - with any other predicate the access goes element by element.
 * A comparison in C, `.pred = i < n`, is an int and no value: gcc from 14 and clang from 15 on refuse it,
 * older ones warn. A 0 is then NULL, which is no predicate; a 1 is SETT_E_ARGUMENT.
 * Elements that share an address by a stride of 0 are loaded once, if the predicate of any of them holds.
 *
 * .cache: a hint to the caches that changes no result; gmem only. A mode that does not exist for a load, or a
 * store, is SETT_E_ARGUMENT. EVICT_FIRST and EVICT_LAST are L1's priorities, those with L2 in the name are
 * L2's; the others are PTX's cache operators. The CPU engine, and targets older than a mode, ignore it. */
typedef enum sett_cache {
    SETT_CACHE_DEFAULT,
    SETT_CACHE_ALWAYS,        /* .ca, .wb: all levels */
    SETT_CACHE_GLOBAL,        /* .cg: past L1 */
    SETT_CACHE_STREAMING,     /* .cs: likely used once */
    SETT_CACHE_LAST_USE,      /* .lu: loads only */
    SETT_CACHE_NONE,          /* .cv: loads only, fetched again each time */
    SETT_CACHE_WRITE_THROUGH, /* .wt: stores only */
    SETT_CACHE_EVICT_FIRST,
    SETT_CACHE_EVICT_LAST,
    SETT_CACHE_L2_EVICT_FIRST, /* by a cache policy: from sm_80 on */
    SETT_CACHE_L2_EVICT_LAST,
    SETT_CACHE_L2_64B,        /* loads only: L2 fetches so many bytes around; from sm_75 on, 256 from sm_80 on
                               * */
    SETT_CACHE_L2_128B,
    SETT_CACHE_L2_256B,
} sett_cache;
typedef struct sett_load_args {
    size_t size;
    const sett_tensor *src;
    sett_val *pred;
    double fill;
    sett_cache cache;
} sett_load_args;
SETT_API sett_val *sett_load_at(sett_site, const sett_load_args *);
#define sett_load(...) \
    sett_load_at(SETT_HERE, &(sett_load_args){.size = sizeof(sett_load_args), .src = __VA_ARGS__})
typedef struct sett_store_args {
    size_t size;
    sett_arg val; /* a value, or a number for every element */
    sett_val *pred;
    sett_cache cache;
} sett_store_args;
SETT_API void sett_store_at(sett_site, const sett_tensor *, const sett_store_args *);
#define sett_store(dst, ...) \
    SETT_STORE_(SETT_HERE_VALUE(#__VA_ARGS__), dst, __VA_ARGS__, .size = sizeof(sett_store_args))
#define SETT_STORE_(here, dst, x, ...) \
    sett_store_at(here, dst, &(sett_store_args){.val = SETT_A(x), __VA_ARGS__})
/* Access by indices. sett_gather: element i of the result is src at idx[i]. sett_scatter: val[i] goes to dst
 * at idx[i]. idx is an integer value of any shape, and the result has that shape. Each index is one number, a
 * colexicographic coordinate. val and pred are scalars, or have idx's extents. Where pred is false nothing is
 * accessed, and a gather gives .fill. A scatter with equal indices leaves one of their values. Each element
 * is an access of its own.
 *
 *     sett_gather(table, sett_load(codes))     sett_scatter(hist, bin, count, .pred = first) */
typedef struct sett_gather_args {
    size_t size;
    const sett_tensor *src;
    const sett_val *idx;
    sett_val *pred;
    double fill;
} sett_gather_args;
SETT_API sett_val *sett_gather_at(sett_site, const sett_gather_args *);
#define sett_gather(tensor, ...) \
    sett_gather_at(SETT_HERE, &(sett_gather_args){.size = sizeof(sett_gather_args), .src = tensor, \
        .idx = __VA_ARGS__})
typedef struct sett_scatter_args {
    size_t size;
    const sett_val *idx;
    sett_arg val; /* as of sett_store */
    sett_val *pred;
} sett_scatter_args;
SETT_API void sett_scatter_at(sett_site, const sett_tensor *, const sett_scatter_args *);
#define sett_scatter(dst, indices, ...) \
    SETT_SCATTER_(dst, indices, __VA_ARGS__, .size = sizeof(sett_scatter_args))
#define SETT_SCATTER_(dst, indices, x, ...) \
    sett_scatter_at(SETT_HERE, dst, &(sett_scatter_args){.idx = indices, .val = SETT_A(x), __VA_ARGS__})
/* crd < bound in every mode, for each element of a coordinate tensor of static shape. bound has the profile
 * of the tensor whose coordinates they are; its leaves that are ALL are not tested. */
SETT_API sett_val *sett_elem_less_at(sett_site, const sett_tensor *crd, sett_arg bound);
/* Given a coordinate tensor, sett_elem_less is that predicate; given two tuples or integers, it says whether
 * all leaves are less (tuple.h). */
#define sett_elem_less(crd, ...) \
    _Generic((crd), sett_tensor *: sett_elem_less_at, const sett_tensor *: sett_elem_less_at, \
        default: sett_elem_less_tuple_at)(SETT_HERE_LAST(__VA_ARGS__), SETT_TENSOR_OR_ARG(crd), \
            SETT_A(SETT_1ST(__VA_ARGS__)))
/* crd >= bound, likewise. It leaves out what lies before a view's first element (sett_peel). */
SETT_API sett_val *sett_elem_at_least_at(sett_site, const sett_tensor *crd, sett_arg bound);
#define sett_elem_at_least(crd, ...) \
    sett_elem_at_least_at(SETT_HERE_LAST(__VA_ARGS__), crd, SETT_A(SETT_1ST(__VA_ARGS__)))
/* One number of each element's coordinate, as a value of the tensor's shape, which is static: mode 1 of the
 * coordinates (m,n) is n; (1, 0) names mode 0 of mode 1. Int32, or Int64 where the coordinates have 64 bits.
 * A mask or a score by position needs no loop:
 *
 *     sett_val *key = sett_coord_value(crd, 1), *query = sett_coord_value(crd, 0);
 *     s = sett_where(sett_le(key, query), s, -INFINITY);
 *
 * SETT_E_RANK: the coordinates have no such mode, or a tuple is there. SETT_E_SPACE: no tensor of
 * coordinates. */
SETT_API sett_val *sett_coord_value_at(sett_site, const sett_tensor *crd, sett_arg mode);
#define sett_coord_value(crd, ...) \
    sett_coord_value_at(SETT_HERE_OF(#__VA_ARGS__), crd, SETT_TUPLE(__VA_ARGS__))
static inline const sett_tensor *sett_tensor_self(const sett_tensor *t)
{
    return t;
}
#define SETT_TENSOR_OR_ARG(x) \
    _Generic((x), sett_tensor *: sett_tensor_self, const sett_tensor *: sett_tensor_self, SETT_A_KINDS)(x)

/* x, after a check that the call gives a coordinate. It stands first in a call, so that this message comes
 * first. */
#define SETT_WHERE(coord, x) \
    ((void)sizeof(struct { _Static_assert(sizeof(coord) > 1, \
        "which element? its coordinate comes last: 0, or (i, j), or ALL"); int is; }), \
        SETT_SAYS(!SETT_BEGINS_(coord, "{"), "a coordinate is i, j, and no list in braces", x))
/* One element, at a static or dynamic coordinate (an integer is colexicographic). sett_coord_at gives an
 * element of a coordinate tensor, as a coordinate. */
SETT_API sett_val *sett_at_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_at(t, ...) sett_at_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_TUPLE(__VA_ARGS__))
SETT_API sett_arg sett_coord_at_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_coord_at(t, ...) sett_coord_at_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
SETT_API void sett_set_at(sett_site, const sett_tensor *, sett_arg val, sett_arg coord);
#define sett_set(t, val, ...) \
    sett_set_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE_VALUE(#val)), t, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
/* Stores one number, or one scalar value, to every element. SETT_E_RANGE: the type cannot hold the number. */
SETT_API void sett_fill_at(sett_site, const sett_tensor *, sett_arg);
#define sett_fill(t, ...) sett_fill_at(SETT_HERE_VALUE(#__VA_ARGS__), t, SETT_A(__VA_ARGS__))
/* Copies element i of src to element i of dst, colexicographic. Their sizes must agree, their shapes need
 * not.
 *
 *     sett_copy(src, dst)                       loads are as wide as src allows, stores as wide as dst allows
 *     sett_copy(src, dst, .pred = p)          where p is true; sett_copy_if(p, src, dst) is CuTe's name of it
 *     sett_copy(copy, src, dst)                 by a tiled copy or a copy atom: mma.h
 *
 * The predicate is broadcast over src. A predicate of NULL is none, here and in every call that takes one.
 * SETT_E_ARGUMENT: three tensors; .zfill, which asynchronous copies by an atom have. */
typedef struct sett_copy_atom sett_copy_atom;
typedef struct sett_tiled_copy sett_tiled_copy;
typedef struct sett_copy_args {
    size_t size;
    const sett_tensor *second, *third; /* the call's second and third operand; the first one says what they
                                        * are */
    sett_val *pred;
    bool zfill;
} sett_copy_args;
SETT_API void sett_copy_at(sett_site, const sett_tensor *src, const sett_copy_args *);
SETT_API void sett_copy_by_atom_at(sett_site, const sett_copy_atom *, const sett_copy_args *);
SETT_API void sett_copy_by_tiled_at(sett_site, const sett_tiled_copy *, const sett_copy_args *);
#define sett_copy(first, ...) \
    _Generic((first), sett_tensor *: sett_copy_at, const sett_tensor *: sett_copy_at, \
        sett_tiled_copy *: sett_copy_by_tiled_at, \
        const sett_tiled_copy *: sett_copy_by_tiled_at, default: sett_copy_by_atom_at)( \
        SETT_HERE, first, &(sett_copy_args){.size = sizeof(sett_copy_args), .second = __VA_ARGS__})
#define sett_copy_if(predicate, src, dst) sett_copy(src, dst, .pred = SETT_COND(predicate))
/* As CuTe's. autovec_copy is sett_copy of two tensors of one type. basic_copy accesses each element by
 * itself, whatever could go together, and copies tensors of dynamic extents too, in a loop. Its predicate has
 * one Boolean for each element, or is one for all, as it must be where extents are dynamic. */
SETT_API void sett_autovec_copy_at(sett_site, const sett_tensor *src, const sett_tensor *dst);
SETT_API void sett_basic_copy_at(sett_site, const sett_tensor *src, const sett_tensor *dst, sett_val *pred);
#define sett_autovec_copy(src, dst) sett_autovec_copy_at(SETT_HERE, src, dst)
#define sett_basic_copy(src, dst) sett_basic_copy_at(SETT_HERE, src, dst, NULL)
#define sett_basic_copy_if(pred, src, dst) sett_basic_copy_at(SETT_HERE, src, dst, SETT_COND(pred))
/* Reads, changes and writes one element of gmem or smem as one step, and gives the old value. (If nothing
 * uses the old value and the order is relaxed or release, the GPU sends none back: a red instruction.)
 * ADD, MIN, MAX: integers of 8 to 64 bits, f16, bf16, f32, f64; MIN and MAX of floats as sett_min and
 * sett_max. ADD of f32 in gmem takes subnormal numbers as zeros of their sign, and gives none, as PTX ISA
 * says of GPUs (seen on an H200 of single elements); elsewhere they stay.
 * AND, OR, XOR: those integers.
 * EXCH, CAS: all these, and from sm_90 on Int128 and Uint128 at addresses that are multiples of 16. CAS
 * writes val where the old value has the bits of `was`.
 * Where the target has no such instruction, the code is a loop of compare-and-swap. For elements of 8 bits
 * the loop swaps the aligned word of 32 bits around the element, and keeps its other bytes. Order and scope
 * are relaxed and the device (in smem the block), unless they are given.
 *
 * A coordinate with ALL in it means every element of the view that sett_slice gives, which has a static
 * shape; ALL alone means all of t:
 *     sett_atomic_add(row, x, ALL);  row (8):(1) of bf16 aligned to 16 bytes, x a value of shape (8),
 *         or a scalar for all
 * The result is the old values, in the view's shape. Each element is one atomic operation; the call as a
 * whole is not atomic: another thread may see some elements changed and others not yet, and in any order. An
 * order that is given (acquire, release) holds for each element's operation.
 * Additions in gmem of f32, f16 and bf16 take as many elements at once as alignment and adjacency prove, up
 * to 16 bytes, where the target has an instruction (sm_90: red and atom .v4.f32, .v4.bf16x2 and narrower;
 * before it, and in smem, f16x2, and in smem of sm_90 bf16x2). All others go one element after another. The
 * result is the same in each element. The kernel's report says how many bytes the layout lets go together and
 * what lost it, whatever instruction the target has.
 * sett_atomic_if takes a predicate: a scalar, or of the view's shape as sett_load's. Where it is false
 * nothing is done, and the old value is 0. SETT_E_SHAPE: a value or a predicate of another shape.
 * SETT_E_STATIC: a view of dynamic shape. */
typedef enum sett_atomic_op { /* sett_binary_op's numbers, and two operations that sett_binary_op lacks */
    SETT_ATOMIC_ADD = SETT_ADD, SETT_ATOMIC_MIN = SETT_MIN, SETT_ATOMIC_MAX = SETT_MAX,
        SETT_ATOMIC_AND = SETT_AND,
    SETT_ATOMIC_OR = SETT_OR, SETT_ATOMIC_XOR = SETT_XOR, SETT_ATOMIC_EXCH = 256,
        SETT_ATOMIC_CAS } sett_atomic_op;
typedef enum sett_sem { SETT_SEM_RELAXED, SETT_SEM_ACQUIRE, SETT_SEM_RELEASE, SETT_SEM_ACQ_REL } sett_sem;
/* CTA: the block. GPU: the device. SYS: all devices and the host. CLUSTER: the blocks of a cluster
 * (cluster.h). DEFAULT: the block in smem, the cluster in a peer's, else the device. */
typedef enum sett_scope { SETT_SCOPE_DEFAULT, SETT_SCOPE_CTA, SETT_SCOPE_GPU, SETT_SCOPE_SYS,
    SETT_SCOPE_CLUSTER } sett_scope;
typedef struct sett_atomic_how {
    sett_atomic_op op;
    sett_sem sem;
    sett_scope scope;
    sett_val *pred;
} sett_atomic_how;
SETT_API sett_val *sett_atomic_at(sett_site, const sett_tensor *, sett_binary_op, sett_arg val,
    sett_arg coord);
#define sett_atomic(t, op, val, ...) \
    sett_atomic_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, op, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
SETT_API sett_val *sett_atomic_how_at(sett_site, const char *func, const sett_tensor *, sett_atomic_how,
    sett_arg val, sett_arg coord);
#define SETT_ATOMIC(func, op, sem, scope, t, val, ...) \
    sett_atomic_how_at(SETT_HERE, func, t, (sett_atomic_how){op, sem, scope, NULL}, SETT_A(val), \
        SETT_TUPLE(__VA_ARGS__))
/* sett_atomic_if(sett_elem_less(crd, M), row, SETT_ATOMIC_ADD, x, ALL) */
#define sett_atomic_if(predicate, t, op, val, ...) \
    sett_atomic_how_at(SETT_HERE, SETT_WHERE(#__VA_ARGS__, "sett_atomic_if"), t, (sett_atomic_how){op, \
        SETT_SEM_RELAXED, SETT_SCOPE_DEFAULT, SETT_COND(predicate)}, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
#define sett_atomic_add(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_add"), SETT_ATOMIC_ADD, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_min(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_min"), SETT_ATOMIC_MIN, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_max(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_max"), SETT_ATOMIC_MAX, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_and(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_and"), SETT_ATOMIC_AND, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_or(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_or"), SETT_ATOMIC_OR, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_xor(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_xor"), SETT_ATOMIC_XOR, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_exch(t, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_exch"), SETT_ATOMIC_EXCH, 0, 0, t, val, __VA_ARGS__)
/* With an order and a scope: sett_atomic_ordered(t, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0).
 * */
#define sett_atomic_ordered(t, op, sem, scope, val, ...) \
    SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_ordered"), op, sem, scope, t, val, __VA_ARGS__)
SETT_API sett_val *sett_atomic_cas_at(sett_site, const sett_tensor *, sett_arg was, sett_arg val, sett_sem,
    sett_scope, sett_arg coord);
#define sett_atomic_cas(t, was, val, ...) \
    sett_atomic_cas_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_A(was), SETT_A(val), SETT_SEM_RELAXED, \
        SETT_SCOPE_DEFAULT, SETT_TUPLE(__VA_ARGS__))
#define sett_atomic_cas_ordered(t, sem, scope, was, val, ...) \
    sett_atomic_cas_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_A(was), SETT_A(val), sem, scope, \
        SETT_TUPLE(__VA_ARGS__))

SETT_API sett_dtype sett_tensor_dtype(const sett_tensor *);
SETT_API sett_space sett_tensor_space(const sett_tensor *);
SETT_API sett_layout *sett_tensor_layout(const sett_tensor *);
/* "tensor<ptr<f32, gmem, align<16>> o (8,5):(5,1)>", snprintf-like; the alignment where it is not the
 * element's. */
SETT_API int sett_tensor_str(const sett_tensor *, char *buf, size_t size);

#endif /* __cplusplus */
#endif
