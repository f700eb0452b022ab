/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: an engine (memory, or a coordinate origin) composed with a layout.
 *
 * A tensor is a view: slicing, dividing and composing it make new views and move no
 * data. sett_load brings a whole tensor into a value, sett_store writes one; both need a
 * static shape. Alignment of the parameter, divisibility of strides and offsets decide the
 * width of each access, up to 16 bytes; the kernel's report says what lost it.
 *
 *     A (M,N):(N,1) of f16, .align = 16, N a multiple of 8
 *     sett_local_tile(A, T(16, 256), T(i, j))     (16,256):(N,1), starts at 16 N i + 256 j
 *     composed with a TV layout, sliced at a thread: ((8,4)):((1,N)): four accesses of 16 bytes
 *
 * A static coordinate outside its extent is SETT_E_RANGE; an integer coordinate of several modes is
 * colexicographic. Booleans lie in memory as bytes, 0 or 1. Elements narrower than a byte are packed, the lowest bits first:
 * f4 and i4 two a byte, f6 four in three bytes. Strides and offsets count elements. Loads take any of them; stores to
 * gmem and smem take whole such units, under one predicate each, else SETT_E_ALIGN, since another thread may write the rest. */
#ifndef SETT_TENSOR_H
#define SETT_TENSOR_H
#include <sett/arg.h>
#include <sett/layout.h>
#include <sett/value.h>

typedef enum sett_space {
    SETT_GMEM = 1, SETT_SMEM, SETT_RMEM, SETT_DSMEM, SETT_TMEM, SETT_GENERIC, SETT_COORD
} sett_space;

#ifndef __cplusplus

/* Coordinates as data: element c of the tensor is c itself. shape may be dynamic. It divides, composes and
 * slices as the data does, so that it says where in the whole each element of a partition lies. */
SETT_API sett_tensor *sett_identity_tensor_at(sett_site, sett_build *, sett_arg shape);
#define sett_identity_tensor(b, ...) sett_identity_tensor_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* Registers of this thread, up to 65536 elements; shape is static, or a layout; the contents start undefined. An
 * index that is known only at run time puts all of the tensor in local memory; the report says so. */
SETT_API sett_tensor *sett_make_rmem_tensor_at(sett_site, sett_build *, sett_dtype, sett_arg shape);
#define sett_make_rmem_tensor(b, dtype, ...) sett_make_rmem_tensor_at(SETT_HERE_OF(#__VA_ARGS__), b, dtype, SETT_TUPLE(__VA_ARGS__))
/* Shared memory of the block, of a static shape (compact, mode 0 fastest) or with a static layout, swizzled or not; align
 * in bytes, a power of two up to 1024, 0: 16. The sum of all is the launch's size, past 48 KiB too: the driver is told. More
 * than the target has (99 KiB on sm_86 and sm_89, 163 on sm_80 and sm_87, 227 on sm_90 and sm_100) is SETT_E_LIMIT
 * when it is compiled, with the place and bytes of each.
 *
 *     sett_make_smem_tensor(b, SETT_F32, 256, 16, .name = "sums")      sums (256):(1) in reports, else smem@kernel.c:12
 *
 * Extents and strides may also be made of symbols and integer scalars, as the grid is: then each launch computes the size
 * (CuTe's dynamic shared memory). Such tensors lie behind the others, in order; the layout is shape:stride with strides of 0
 * or more, swizzled or not; elements narrower than a byte lie together as everywhere. A symbol that no argument has is given
 * behind the arguments, so that the caller of a launch decides:
 *
 *     sett_val *n = sett_sym(b, "n");   sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, n, 16);   (n):(1)
 *     sett_launch(k, s, &err, &X, 4096)                            4096 floats
 *
 * A launch that asks for more than the device has is SETT_E_LIMIT. What the CPU engine checks is that an access stays in what
 * the launch gave. */
typedef struct sett_smem_options {
    size_t size;
    int align;
    const char *name; /* in messages and reports; NULL: `smem`, and the line that makes it */
} sett_smem_options;
SETT_API sett_tensor *sett_make_smem_tensor_at(
    sett_site, sett_build *, sett_dtype, sett_arg shape, const sett_smem_options *);
#define sett_make_smem_tensor(b, dtype, shape, ...) \
    sett_make_smem_tensor_at(SETT_HERE_OF(#shape), b, dtype, SETT_A(shape), \
        &(sett_smem_options){.size = sizeof(sett_smem_options), .align = __VA_ARGS__})
/* An rmem tensor of another tensor's static shape, compact in the order of its strides (CuTe's
 * make_layout_like: modes of extent 1 or stride 0 get stride 0, dynamic strides come last). dtype 0: the same.
 *     (4,6,2):(6,1,24) keeps its strides, (4,2):(N,1) gives (4,2):(2,1). */
SETT_API sett_tensor *sett_make_fragment_like_at(sett_site, const sett_tensor *, sett_dtype);
#define sett_make_fragment_like(t, dtype) sett_make_fragment_like_at(SETT_HERE, t, dtype)
/* A mutable scalar: a one-element rmem tensor. sett_at(v, 0) reads, sett_set(v, x, 0) writes. */
SETT_API sett_tensor *sett_var_at(sett_site, sett_build *, sett_dtype, sett_arg init);
#define sett_var(b, dtype, init) sett_var_at(SETT_HERE, b, dtype, SETT_A(init))

/* The tile at `coord` of a tensor cut into tiles: zipped_divide by tiler, rest mode sliced; ALL leaves of coord, and
 * those that it lacks, keep that rest mode.
 *     (256,96), tiler (32,8), coord (6,_): (32,8,12), starts at row 192 */
SETT_API sett_tensor *sett_local_tile_at(sett_site, const sett_tensor *, sett_arg tiler, sett_arg coord);
/* With a projection only the modes of tiler and coordinate where it is not ALL: of (BLK_M,BLK_N,BLK_K) and (m,n,k) A takes
 * T(1, ALL, 1), B T(ALL, 1, 1) and C T(1, 1, ALL). It is 1 or ALL for each mode of the tiler, else SETT_E_RANK: a coordinate of
 * several modes is one argument, T(i, j). */
SETT_API sett_tensor *sett_local_tile_proj_at(sett_site, const sett_tensor *, sett_arg tiler, sett_arg coord, sett_arg proj);
#define sett_local_tile(t, tiler, ...) SETT_CAT(SETT_LOCAL_TILE, SETT_NARG(__VA_ARGS__))(t, tiler, __VA_ARGS__)
#define SETT_LOCAL_TILE1(t, tiler, coord) sett_local_tile_at(SETT_HERE, t, SETT_A(tiler), SETT_A(coord))
#define SETT_LOCAL_TILE2(t, tiler, coord, proj) \
    sett_local_tile_proj_at(SETT_HERE, t, SETT_A(tiler), SETT_A(coord), SETT_A(proj))
/* What thread `idx` of a static thread layout gets of a tensor: zipped_divide by the layout's shape, sliced at
 * the thread's coordinate. (16,24) among (4,8):(8,1): each thread gets (4,3), thread t starts at (t/8, t%8). */
SETT_API sett_tensor *sett_local_partition_at(sett_site, const sett_tensor *, const sett_layout *threads, sett_arg idx);
#define sett_local_partition(t, threads, ...) SETT_CAT(SETT_LOCAL_PARTITION, SETT_NARG(__VA_ARGS__))(t, threads, __VA_ARGS__)
#define SETT_LOCAL_PARTITION1(t, threads, idx) sett_local_partition_at(SETT_HERE, t, threads, SETT_A(idx))
/* With a projection, 1 or ALL for each mode of the thread layout: among those where it is not ALL; threads that differ in the
 * others share. */
SETT_API sett_tensor *sett_local_partition_proj_at(sett_site, const sett_tensor *, const sett_layout *threads, sett_arg idx, sett_arg proj);
#define SETT_LOCAL_PARTITION2(t, threads, idx, proj) sett_local_partition_proj_at(SETT_HERE, t, threads, SETT_A(idx), SETT_A(proj))
/* The same memory as elements of another type; mode strides scale as in recast_layout. SETT_E_DIVIDE: it does not
 * start at a whole element of the wider type. */
SETT_API sett_tensor *sett_recast_tensor_at(sett_site, const sett_tensor *, sett_dtype);
#define sett_recast_tensor(t, dtype) sett_recast_tensor_at(SETT_HERE, t, dtype)
/* The view that starts at `coord`, with the same layout; nothing is checked against the extents. */
SETT_API sett_tensor *sett_domain_offset_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_domain_offset(t, ...) sett_domain_offset_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
/* A row whose alignment only a launch knows, N of an odd stride, as a view whose alignment is known: it begins `skip`
 * elements before the row, at the multiple of `bytes` (a power of two, up to 16) at or below the row's first element, and
 * ends where the row does. Tiles of it are aligned; what a tile has before the row and after it is left out by
 *
 *     sett_peeled x = sett_peel(sett_slice(X, row, ALL), 16);          X ?:1 of N+skip elements
 *     sett_val *in = sett_and(sett_elem_at_least(crd, T1(x.skip)), sett_elem_less(crd, T1(sett_add(N, x.skip))));
 *
 * where crd are the coordinates of the tile in x.tensor. An access that is all inside is wide then, without a test of
 * its alignment, and the two at the ends of the row are by element. Element k of the row is element k + skip of the view;
 * rows of one layout have one skip, so that X, Y and their sum are peeled alike. Each row costs up to
 * bytes - 1 more bytes to cover: that pays where a row is many times as long.
 * t: of one mode with stride 1; SETT_E_ALIGN: its memory is not known to be aligned to `bytes` (.align), SETT_E_DTYPE: elements
 * of no whole bytes. Where the row is known to be aligned, skip is 0. */
typedef struct sett_peeled {
    sett_tensor *tensor;
    sett_arg skip; /* elements */
} sett_peeled;
SETT_API sett_peeled sett_peel_at(sett_site, const sett_tensor *, int bytes);
#define sett_peel(t, bytes) sett_peel_at(SETT_HERE, t, bytes)

/* ---- access ---------------------------------------------------------------------------- */
/* sett_load gives a value of the tensor's shape. sett_store takes one of the same extents, or a scalar; its type is
 * the tensor's, or a narrower one of its kind (f16 into f32); others are SETT_E_DTYPE, see sett_to. A C number is a scalar of
 * the tensor's type, SETT_E_RANGE where that cannot hold it. Of elements that
 * share an address a store leaves one of the values; which one is not specified.
 *
 * Predicates: a Boolean value broadcast over the tensor, or of its size in another shape, element i for element i
 * (colexicographic). Where it is false nothing is read and .fill stands for the element, or nothing is written. One made by sett_elem_less keeps its coordinates: an access whose elements are
 * provably all inside or all outside costs one test and stays wide; others are wide where all elements are inside
 * (and aligned, if that is not proven), and by element where not. A scalar predicate keeps the access whole, and
 * sett_and of one by sett_elem_less with a scalar, or with another of its shape, is like it. Others are by element.
 * Elements in one place, by a stride of 0, are loaded once, if the predicate of one of them holds.
 *
 * .cache: how the caches treat it, a hint that changes no result; of gmem only. A mode that the direction lacks is
 * SETT_E_ARGUMENT. EVICT_FIRST and EVICT_LAST are L1's priorities, those with L2 are L2's; the rest are the PTX cache
 * operators. Targets before the first that has a mode, and the CPU engine, take it and do nothing. */
typedef enum sett_cache {
    SETT_CACHE_DEFAULT,
    SETT_CACHE_ALWAYS,        /* .ca, .wb: all levels */
    SETT_CACHE_GLOBAL,        /* .cg: past L1 */
    SETT_CACHE_STREAMING,     /* .cs: likely touched once */
    SETT_CACHE_LAST_USE,      /* .lu: loads */
    SETT_CACHE_NONE,          /* .cv: loads, fetched again each time */
    SETT_CACHE_WRITE_THROUGH, /* .wt: stores */
    SETT_CACHE_EVICT_FIRST,
    SETT_CACHE_EVICT_LAST,
    SETT_CACHE_L2_EVICT_FIRST, /* by a policy: from sm_80 */
    SETT_CACHE_L2_EVICT_LAST,
    SETT_CACHE_L2_64B,        /* loads: L2 fetches so many bytes around; from sm_75, 256 from sm_80 */
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
#define sett_load(...) sett_load_at(SETT_HERE, &(sett_load_args){.size = sizeof(sett_load_args), .src = __VA_ARGS__})
typedef struct sett_store_args {
    size_t size;
    sett_arg val; /* a value, or a number for every element */
    sett_val *pred;
    sett_cache cache;
} sett_store_args;
SETT_API void sett_store_at(sett_site, const sett_tensor *, const sett_store_args *);
#define sett_store(dst, ...) SETT_STORE_(dst, __VA_ARGS__, .size = sizeof(sett_store_args))
#define SETT_STORE_(dst, x, ...) sett_store_at(SETT_HERE, dst, &(sett_store_args){.val = SETT_A(x), __VA_ARGS__})
/* By indices: element i of the result is src at idx[i], and val[i] goes to dst at idx[i]. idx is an integer value of any
 * shape, which the result has; each element is a coordinate of one number, colexicographic. val and pred are scalars, or
 * have its extents. Where pred is false nothing is touched, and .fill stands for the element. Of equal indices a scatter
 * leaves one of the values. One access an element.
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
    sett_gather_at(SETT_HERE, &(sett_gather_args){.size = sizeof(sett_gather_args), .src = tensor, .idx = __VA_ARGS__})
typedef struct sett_scatter_args {
    size_t size;
    const sett_val *idx;
    sett_arg val; /* as of sett_store */
    sett_val *pred;
} sett_scatter_args;
SETT_API void sett_scatter_at(sett_site, const sett_tensor *, const sett_scatter_args *);
#define sett_scatter(dst, indices, ...) SETT_SCATTER_(dst, indices, __VA_ARGS__, .size = sizeof(sett_scatter_args))
#define SETT_SCATTER_(dst, indices, x, ...) \
    sett_scatter_at(SETT_HERE, dst, &(sett_scatter_args){.idx = indices, .val = SETT_A(x), __VA_ARGS__})
/* crd < bound in every mode, for each element of a coordinate tensor of static shape; a leaf of bound that is ALL is
 * not tested. bound has the profile of the whole whose coordinates they are. */
SETT_API sett_val *sett_elem_less_at(sett_site, const sett_tensor *crd, sett_arg bound);
/* Of a coordinate tensor that predicate; of two tuples or integers whether all leaves are less (tuple.h). */
#define sett_elem_less(crd, bound) \
    _Generic((crd), sett_tensor *: sett_elem_less_at, const sett_tensor *: sett_elem_less_at, \
        default: sett_elem_less_tuple_at)(SETT_HERE, SETT_TENSOR_OR_ARG(crd), SETT_A(bound))
/* crd >= bound, as above: what lies below a view's first element is no element of it (sett_peel). */
SETT_API sett_val *sett_elem_at_least_at(sett_site, const sett_tensor *crd, sett_arg bound);
#define sett_elem_at_least(crd, bound) sett_elem_at_least_at(SETT_HERE, crd, SETT_A(bound))
static inline const sett_tensor *sett_tensor_self(const sett_tensor *t)
{
    return t;
}
#define SETT_TENSOR_OR_ARG(x) \
    _Generic((x), sett_tensor *: sett_tensor_self, const sett_tensor *: sett_tensor_self, SETT_A_KINDS)(x)

/* x, in a call whose coordinate is spelled so: a forgotten one is told first, and by name. */
#define SETT_WHERE(coord, x) \
    ((void)sizeof(struct { _Static_assert(sizeof(coord) > 1, "which element? its coordinate comes last: 0, or (i, j), or ALL"); int is; }), \
        SETT_SAYS(!SETT_BEGINS_(coord, "{"), "a coordinate is i, j, and no list in braces", x))
/* One element at a coordinate (an integer is colexicographic), static or dynamic. A coordinate
 * tensor gives the coordinate: sett_coord_at. */
SETT_API sett_val *sett_at_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_at(t, ...) sett_at_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_TUPLE(__VA_ARGS__))
SETT_API sett_arg sett_coord_at_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_coord_at(t, ...) sett_coord_at_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
SETT_API void sett_set_at(sett_site, const sett_tensor *, sett_arg val, sett_arg coord);
#define sett_set(t, val, ...) sett_set_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
/* Every element becomes a number (SETT_E_RANGE if the type cannot hold it), or a scalar value. */
SETT_API void sett_fill_at(sett_site, const sett_tensor *, sett_arg);
#define sett_fill(t, v) sett_fill_at(SETT_HERE, t, SETT_A(v))
/* Element i of src to element i of dst, colexicographic: their sizes agree, shapes need not. Each side as wide as it
 * allows. A predicate is broadcast over src; NULL is none, here as in every call that takes one: all is done. */
SETT_API void sett_copy_at(sett_site, const sett_tensor *src, const sett_tensor *dst, sett_val *pred);
#define sett_copy(src, dst) sett_copy_at(SETT_HERE, src, dst, NULL)
#define sett_copy_if(pred, src, dst) sett_copy_at(SETT_HERE, src, dst, pred)
/* Read-modify-write of one element in gmem or smem; gives the old value (where nobody uses it, the
 * GPU sends none back: a red, if the order is relaxed or release). op: ADD, MIN and MAX of integers of 8 to 64 bits, f16, bf16, f32 and f64, of floats as
 * sett_min and sett_max; AND, OR, XOR of those integers; EXCH and CAS of all these, and of Int128 and Uint128 from sm_90 on,
 * at addresses that 16 divides. What the target has no instruction for is a loop of compare-and-swap: of 8 bits on the aligned
 * word of 32 around them, of which the other bytes keep what they hold. Relaxed, and of device scope (block scope in
 * smem), unless an order and a scope are given. CAS writes val where the old value has the bits of `was`.
 *
 * A coordinate with ALL in it does every element of the view that sett_slice gives (of static shape; ALL alone: of t):
 *     sett_atomic_add(row, x, ALL);      row (8):(1) of bf16 aligned to 16 bytes, x a value of shape (8), or a scalar for all
 * gives the old values in the view's shape. Each element is an atomic of its own, and the whole is not one: others may see
 * some of it done. Order between them: none; the order that is asked for is each one's. Additions in gmem of f32, f16 and
 * bf16 take as many at once as alignment and adjacency prove, up to 16 bytes, where the target has an instruction (sm_90:
 * red and atom .v4.f32, .v4.bf16x2 and narrower; before it, and in smem, f16x2, and in smem of sm_90 bf16x2), else one
 * after another, with the same result in each element; all others go one after another. The kernel report says how
 * many bytes the layout lets go together and what lost it, whatever the target then has for them.
 * sett_atomic_if has a predicate: a scalar, or of the view's shape as sett_load's (NULL: none); where it is false nothing is
 * done and the old value reads 0. SETT_E_SHAPE: a value or a predicate of another shape; SETT_E_STATIC: a view of dynamic shape. */
typedef enum sett_atomic_op { /* what sett_atomic takes, by the same numbers, and two that are no binary operations */
    SETT_ATOMIC_ADD = SETT_ADD, SETT_ATOMIC_MIN = SETT_MIN, SETT_ATOMIC_MAX = SETT_MAX, SETT_ATOMIC_AND = SETT_AND,
    SETT_ATOMIC_OR = SETT_OR, SETT_ATOMIC_XOR = SETT_XOR, SETT_ATOMIC_EXCH = 256, SETT_ATOMIC_CAS } sett_atomic_op;
typedef enum sett_sem { SETT_SEM_RELAXED, SETT_SEM_ACQUIRE, SETT_SEM_RELEASE, SETT_SEM_ACQ_REL } sett_sem;
typedef enum sett_scope { SETT_SCOPE_DEFAULT, SETT_SCOPE_CTA, SETT_SCOPE_GPU, SETT_SCOPE_SYS } sett_scope; /* block, device, all */
typedef struct sett_atomic_how { sett_atomic_op op; sett_sem sem; sett_scope scope; sett_val *pred; } sett_atomic_how;
SETT_API sett_val *sett_atomic_at(sett_site, const sett_tensor *, sett_binary_op, sett_arg val, sett_arg coord);
#define sett_atomic(t, op, val, ...) sett_atomic_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, op, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
SETT_API sett_val *sett_atomic_how_at(sett_site, const char *func, const sett_tensor *, sett_atomic_how, sett_arg val, sett_arg coord);
#define SETT_ATOMIC(func, op, sem, scope, t, val, ...) \
    sett_atomic_how_at(SETT_HERE, func, t, (sett_atomic_how){op, sem, scope, NULL}, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
/* sett_atomic_if(sett_elem_less(crd, M), row, SETT_ATOMIC_ADD, x, ALL) */
#define sett_atomic_if(predicate, t, op, val, ...) \
    sett_atomic_how_at(SETT_HERE, SETT_WHERE(#__VA_ARGS__, "sett_atomic_if"), t, (sett_atomic_how){op, SETT_SEM_RELAXED, SETT_SCOPE_DEFAULT, predicate}, SETT_A(val), SETT_TUPLE(__VA_ARGS__))
#define sett_atomic_add(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_add"), SETT_ATOMIC_ADD, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_min(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_min"), SETT_ATOMIC_MIN, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_max(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_max"), SETT_ATOMIC_MAX, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_and(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_and"), SETT_ATOMIC_AND, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_or(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_or"), SETT_ATOMIC_OR, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_xor(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_xor"), SETT_ATOMIC_XOR, 0, 0, t, val, __VA_ARGS__)
#define sett_atomic_exch(t, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_exch"), SETT_ATOMIC_EXCH, 0, 0, t, val, __VA_ARGS__)
/* With an order and a scope: sett_atomic_ordered(t, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0). */
#define sett_atomic_ordered(t, op, sem, scope, val, ...) SETT_ATOMIC(SETT_WHERE(#__VA_ARGS__, "sett_atomic_ordered"), op, sem, scope, t, val, __VA_ARGS__)
SETT_API sett_val *sett_atomic_cas_at(sett_site, const sett_tensor *, sett_arg was, sett_arg val, sett_sem, sett_scope, sett_arg coord);
#define sett_atomic_cas(t, was, val, ...) \
    sett_atomic_cas_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_A(was), SETT_A(val), SETT_SEM_RELAXED, SETT_SCOPE_DEFAULT, SETT_TUPLE(__VA_ARGS__))
#define sett_atomic_cas_ordered(t, sem, scope, was, val, ...) \
    sett_atomic_cas_at(SETT_WHERE(#__VA_ARGS__, SETT_HERE), t, SETT_A(was), SETT_A(val), sem, scope, SETT_TUPLE(__VA_ARGS__))

SETT_API sett_dtype sett_tensor_dtype(const sett_tensor *);
SETT_API sett_space sett_tensor_space(const sett_tensor *);
SETT_API sett_layout *sett_tensor_layout(const sett_tensor *);
/* "tensor<ptr<f32, gmem, align<16>> o (8,5):(5,1)>", snprintf-like; the alignment where it is not the element's. */
SETT_API int sett_tensor_str(const sett_tensor *, char *buf, size_t size);

#endif /* __cplusplus */
#endif
