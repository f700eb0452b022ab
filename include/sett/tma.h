/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that the hardware makes by itself: boxes of tensors by a tensor map (TMA), and bytes in bulk. From
 * sm_90 on, and on the CPU engine. Names are CuTe's.
 *
 * A tensor map says how boxes of a tensor in global memory lie in shared memory. It is a parameter that each
 * launch makes of the tensor's address and symbols. Its box, its swizzle and the order of its modes follow
 * from the tile and from the layout that the tile has in shared memory.
 *
 *     sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, K), .align = 16);
 *     sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 128,
 *         64, STAGES), 1024);
 *     sett_tma *tA = sett_make_tma(A, .smem = sA, .tile = T(128, 64));     box (64,128), swizzle of 128 bytes
 *
 *     sett_tensor *cA = sett_tma_tensor(tA);                                    coordinates (M,K):(1@1,1@0)
 *     sett_tensor *gA = sett_local_tile(cA, T(128, 64), T(m, ALL));         (128,64,k): where its boxes begin
 *
 *     expect sett_tma_bytes(tA) bytes at the barrier, then
 *     sett_tma_load(tA, sett_slice(gA, ALL, ALL, k), sett_slice(sA, ALL, ALL, stage), bar);
 *
 * A warp calls a copy, and one of its lanes issues it (sett_elect_one); inside of a sett_if (b,
 * sett_elect_one(b)) the call elects nobody again. What lies outside of the tensor is read as zero, and is
 * not written: these copies, and no others, test bounds by themselves. A box in shared memory begins at a
 * multiple of 128 bytes, or with a swizzle of 32, 64 or 128 bytes of 256, 512 or 1024. */
#ifndef SETT_TMA_H
#define SETT_TMA_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* ---- tensor maps ------------------------------------------------------------------------------ */
typedef struct sett_tma sett_tma;
/* gmem: a tensor argument, or a view of it that begins where it does. One mode has stride 1; other strides
 * are multiples of 16 bytes, and so is the address. What symbols make of them is checked when a call is
 * prepared; `.div` proves it before.
 * .smem: where the tile goes, or comes from: a tensor whose first modes are the tile; modes that follow, of
 * stages, do not count. In its place .layout: its layout alone. Plain, or swizzled as sett_smem_layout_atom
 * is.
 * .tile: the tile, as of sett_local_tile, static: T(128, 64), and T1(256) of a vector.
 * .multicast: how many blocks of a cluster share a tile. Each copies its part to all of them:
 * sett_tma_partition.
 * .nan: what lies outside is read as NaN, in floats of 16 bits and more.
 * .empty: a launch may give a tensor without elements. Then the kernel makes no copy by the map: it is none.
 * .l2: bytes that a miss fetches to L2: 64, 128 or 256; 0: 128, as CuTe; -1: as few as needed.
 * .name: of the map in messages and in the tape; NULL: tma_ and the tensor's.
 *
 * The box has as many modes as lie together in shared memory, the contiguous one first, which is also the
 * contiguous one in global memory. A tile whose rows are longer than its swizzle, such as 128 columns of f16
 * with one of 128 bytes, is several boxes, and so several copies: CuTe's (TMA,Rest). The tensor's other modes
 * follow behind those of the box.
 * SETT_E_SPACE, SETT_E_DTYPE, SETT_E_SHAPE: gmem is no tensor argument, or .smem no shared memory, of another
 * type or extent.
 * SETT_E_RANK, SETT_E_LIMIT, SETT_E_ALIGN, SETT_E_ARGUMENT: the hardware has no such copy: more than 5 modes,
 * more than 256 elements in a mode of the box, a row of it that is no multiple of 16 bytes or longer than the
 * swizzle, and so on. */
typedef struct sett_tma_args {
    size_t size;
    const sett_tensor *gmem, *smem;
    const sett_layout *layout;
    sett_arg tile;
    int multicast;
    bool nan, empty;
    int l2;
    const char *name;
} sett_tma_args;
SETT_API sett_tma *sett_make_tma_at(sett_site, const sett_tma_args *);
#define sett_make_tma(...) \
    sett_make_tma_at(SETT_HERE, &(sett_tma_args){.size = sizeof(sett_tma_args), .gmem = __VA_ARGS__})
/* The tensor of coordinates in the order of the map's modes, of gmem's shape: (M,K):(K,1) has
 * (M,K):(1@1,1@0). Tiled, sliced and partitioned as the data is, it says where a copy begins. */
SETT_API sett_tensor *sett_tma_tensor_at(sett_site, const sett_tma *);
#define sett_tma_tensor(tma) sett_tma_tensor_at(SETT_HERE, tma)
/* Bytes of a tile: what arrives at a block's barrier for it, from all blocks that share it. 1: the build has
 * failed. */
SETT_API int sett_tma_bytes(const sett_tma *);

/* As CuTe's tma_partition: mode 0 of smem and gmem, the tile, becomes (TMA,Rest), the elements of one copy
 * and which copy. smem is the shared memory, gmem the coordinates, each with its further modes; where the
 * tile is several modes, they are grouped. With .multicast cta_layout lists the blocks that share the tile,
 * and the part begins where block cta_coord copies; else they are 0 and NULL. The results are the operands of
 * copies.
 *
 *     gB of (64,128,k) coordinates and sB of (64,128,STAGES), f16, by a map with .multicast = 2
 *     sett_tma_partition(tB, rank, sett_make_layout(b, 2, 1), sB, gB, &s, &g);  s ((4096,2),STAGES),
 *         g (((64,64),2),k)
 *     sett_val *both = sett_create_tma_multicast_mask(b, sett_make_layout(b, T(2, 1)), T(0, 0), 0);
 *     sett_tma_load(tB, sett_slice(g, ALL, k), sett_slice(s, ALL, stage), bar, .mask = both); */
SETT_API void sett_tma_partition_at(sett_site, const sett_tma *, sett_arg cta_coord,
    const sett_layout *cta_layout, const sett_tensor *smem, const sett_tensor *gmem,
    sett_tensor **s, sett_tensor **g);
#define sett_tma_partition(tma, cta_coord, cta_layout, smem, gmem, s, g) \
    sett_tma_partition_at(SETT_HERE, tma, SETT_A(cta_coord), cta_layout, smem, gmem, s, g)
/* The blocks of a cluster with the coordinate of this one, but in `mode`: bit i is block i. cta_layout:
 * (v,m,n,k) -> block. */
SETT_API sett_val *sett_create_tma_multicast_mask_at(sett_site, sett_build *, const sett_layout *cta_layout,
    sett_arg cta_coord, int mode);
#define sett_create_tma_multicast_mask(b, cta_layout, cta_coord, mode) \
    sett_create_tma_multicast_mask_at(SETT_HERE, b, cta_layout, SETT_A(cta_coord), mode)

/* ---- copies ------------------------------------------------------------------------------------- */
/* A tile, or what sett_tma_partition made of it, and its coordinates, of one size. The copy goes on in the
 * background.
 *
 *     sett_tma_load(tma, coordinates, shared memory, barrier)  its bytes complete at the barrier,
 *         which expects them
 *     sett_tma_store(tma, shared memory, coordinates)                completes with its group
 *     sett_tma_reduce(tma, op, shared memory, coordinates)  SETT_ADD, MIN or MAX into each element,
 *         one atomic each
 *     sett_tma_prefetch(tma, coordinates)                            to L2
 *
 * barrier: an mbarrier of the block, a tensor of one element (sett_make_mbarriers), or of a pipeline's state,
 * sett_pipeline_barrier(state). .mask: a load goes to the same place of these blocks of the cluster, and
 * completes at the same barrier there. .policy: of sett_cache_policy. .pred: a Boolean scalar; where it is
 * false nothing is copied. .map: a map in memory takes the place of the argument's (sett_copy_tensormap).
 * What threads wrote to shared memory is read by a store behind sett_fence_view_async_shared and a barrier.
 * A box begins at a multiple of 16 bytes of mode 0: what begins elsewhere is an illegal instruction on a GPU,
 * and a fault of the CPU engine.
 * What threads have loaded is overwritten by a load behind the same two, which a release of
 * sett_pipeline_tma_async has (pipeline.h). Coordinates of what is written do not begin below 0, and rows,
 * mode 0 of the map, are a multiple of 16 bytes: .div of their extent proves it.
 * SETT_E_SPACE, SETT_E_SHAPE, SETT_E_ARGUMENT: no coordinates of this map, other sizes, no mbarrier. */
typedef struct sett_tma_copy_args {
    size_t size;
    const sett_tensor *src, *dst, *barrier;
    sett_val *mask, *policy, *pred;
    const sett_tensor *map;
} sett_tma_copy_args;
typedef enum sett_tma_kind { SETT_TMA_LOAD, SETT_TMA_STORE, SETT_TMA_REDUCE,
    SETT_TMA_PREFETCH } sett_tma_kind;
SETT_API void sett_tma_copy_at(sett_site, sett_tma_kind, const sett_tma *, sett_binary_op,
    const sett_tma_copy_args *);
#define sett_tma_load(tma, source, ...) SETT_TMA_COPY(LOAD, tma, SETT_ADD, source, .dst = __VA_ARGS__)
#define sett_tma_store(tma, source, ...) SETT_TMA_COPY(STORE, tma, SETT_ADD, source, .dst = __VA_ARGS__)
#define sett_tma_reduce(tma, op, source, ...) SETT_TMA_COPY(REDUCE, tma, op, source, .dst = __VA_ARGS__)
#define sett_tma_prefetch(tma, ...) SETT_TMA_COPY(PREFETCH, tma, SETT_ADD, __VA_ARGS__)
#define SETT_TMA_COPY(kind, tma, op, ...) \
    sett_tma_copy_at(SETT_HERE, SETT_TMA_##kind, tma, op, \
        &(sett_tma_copy_args){.size = sizeof(sett_tma_copy_args), .src = __VA_ARGS__})
/* Stores and reductions of a thread, those in bulk too, complete by groups. commit makes a group of those
 * since the last; all lanes call it. wait: until at most the `pending` newest groups (0 to 255) are under
 * way; wait_read: until they have read shared memory, which may then be written. It is the lane that was
 * elected that waits: others learn it at a barrier. */
SETT_API void sett_tma_store_commit_at(sett_site, sett_build *);
SETT_API void sett_tma_store_wait_at(sett_site, sett_build *, int pending, bool read);
#define sett_tma_store_commit(b) sett_tma_store_commit_at(SETT_HERE, b)
#define sett_tma_store_wait(b, pending) sett_tma_store_wait_at(SETT_HERE, b, pending, false)
#define sett_tma_store_wait_read(b, pending) sett_tma_store_wait_at(SETT_HERE, b, pending, true)
/* How L2 keeps what a copy moves: a Uint64 for .policy. percent: of so many of a hundred accesses, 1 to 100;
 * the others leave priorities as they are. */
typedef enum sett_evict { SETT_EVICT_FIRST, SETT_EVICT_LAST, SETT_EVICT_NORMAL,
    SETT_EVICT_UNCHANGED } sett_evict;
SETT_API sett_val *sett_cache_policy_at(sett_site, sett_build *, sett_evict, int percent);
#define sett_cache_policy(b, evict, percent) sett_cache_policy_at(SETT_HERE, b, evict, percent)

/* ---- maps in memory ------------------------------------------------------------------------------- */
/* A kernel that copies many tensors by one code, such as a grouped product, has maps in global memory:
 * tensors of 16 Uint64, 128 bytes each, aligned to 64, which a host or a kernel filled. As .map of a copy one
 * of them takes the place of the map that the copy's sett_tma has; box, swizzle and type stay as that says.
 *
 *     sett_tensor *maps = sett_param(b, "maps", SETT_U64, sett_row_major(b, G, 16), .align = 64);
 *     sett_tensor *map = sett_slice(maps, g, ALL);
 *     sett_copy_tensormap(tA, map);
 *     sett_update_tma_descriptor(tA, map, .address = sett_address(A, at), .shape = T(m, k), .stride = T(k,
 *         1));
 *     sett_fence_tma_desc_release(b);
 *     sett_fence_tma_desc_acquire(map);                             who copies by it; a warp that made it too
 *     sett_tma_load(tA, g_tile, s_tile, bar, .map = map);
 *
 * One lane of the warp writes. A map in shared memory is written as well, and copied to global memory by
 * sett_copy, 16 bytes at a time. .address: a Uint64, a multiple of 16. .shape, .stride: integers in the
 * profile of the map's own tensor, strides in elements; what the map's own tensor has of extent 1 or stride 0
 * stays so. Left out: as it was. Only targets such as sm_90a have sett_update_tma_descriptor. SETT_E_SHAPE,
 * SETT_E_DTYPE, SETT_E_RANK: no 16 Uint64; no Uint64; another profile. */
typedef struct sett_tma_descriptor_args {
    size_t size;
    const sett_tensor *map;
    sett_val *address;
    sett_arg shape, stride;
} sett_tma_descriptor_args;
SETT_API void sett_copy_tensormap_at(sett_site, const sett_tma *, const sett_tensor *map);
#define sett_copy_tensormap(tma, map) sett_copy_tensormap_at(SETT_HERE, tma, map)
SETT_API void sett_update_tma_descriptor_at(sett_site, const sett_tma *, const sett_tma_descriptor_args *);
#define sett_update_tma_descriptor(tma, ...) \
    sett_update_tma_descriptor_at(SETT_HERE, tma, \
        &(sett_tma_descriptor_args){.size = sizeof(sett_tma_descriptor_args), .map = __VA_ARGS__})
/* release: what the thread wrote to maps is seen by who acquires them; acquire: copies of this thread see it.
 * */
SETT_API void sett_fence_tma_desc_release_at(sett_site, sett_build *);
SETT_API void sett_fence_tma_desc_acquire_at(sett_site, const sett_tensor *map);
#define sett_fence_tma_desc_release(b) sett_fence_tma_desc_release_at(SETT_HERE, b)
#define sett_fence_tma_desc_acquire(map) sett_fence_tma_desc_acquire_at(SETT_HERE, map)
/* Asks for a map to be brought near, before its first copy: of the argument, or of a map in memory. */
SETT_API void sett_prefetch_descriptor_at(sett_site, const sett_tma *, const sett_tensor *map_or_null);
#define sett_prefetch_descriptor(tma) sett_prefetch_descriptor_at(SETT_HERE, tma, NULL)
#define sett_prefetch_descriptor_of(tma, map) sett_prefetch_descriptor_at(SETT_HERE, tma, map)

/* ---- bytes -------------------------------------------------------------------------------------------- */
/* Copies of contiguous bytes, without a map: from 16 bytes to less than 1 MiB, a multiple of 16 between
 * addresses that are such too. One lane of the warp issues. Sizes are static, of both sides the same.
 *
 *     sett_bulk_load(gmem, smem, barrier)   completes at the barrier; .mask: in several blocks of the cluster
 *     sett_bulk_store(smem, gmem)                       completes with its group, as sett_tma_store
 *     sett_bulk_reduce(op, smem, gmem)                  SETT_ADD, MIN or MAX into each element
 *     sett_bulk_peer(smem, peer, barrier)              sett_map_dsmem of both: to a peer, and completes there
 *
 * .bytes: so many in place of all of the tensors': an integer, at most as many as they have. .policy, .pred:
 * as above. Bounds are not tested. SETT_E_SPACE, SETT_E_DTYPE, SETT_E_SHAPE, SETT_E_ALIGN: an operand in
 * other memory, of another type or size, not contiguous, or not known to begin at 16 bytes. */
typedef struct sett_bulk_args {
    size_t size;
    const sett_tensor *src, *dst, *barrier;
    sett_val *mask, *policy, *pred, *bytes;
} sett_bulk_args;
typedef enum sett_bulk_kind { SETT_BULK_LOAD, SETT_BULK_STORE, SETT_BULK_REDUCE,
    SETT_BULK_PEER } sett_bulk_kind;
SETT_API void sett_bulk_copy_at(sett_site, sett_bulk_kind, sett_binary_op, const sett_bulk_args *);
#define sett_bulk_load(source, ...) SETT_BULK_COPY(LOAD, SETT_ADD, source, __VA_ARGS__)
#define sett_bulk_store(source, ...) SETT_BULK_COPY(STORE, SETT_ADD, source, __VA_ARGS__)
#define sett_bulk_reduce(op, source, ...) SETT_BULK_COPY(REDUCE, op, source, __VA_ARGS__)
#define sett_bulk_peer(source, ...) SETT_BULK_COPY(PEER, SETT_ADD, source, __VA_ARGS__)
#define SETT_BULK_COPY(kind, op, source, ...) \
    sett_bulk_copy_at(SETT_HERE, SETT_BULK_##kind, op, &(sett_bulk_args){.size = sizeof(sett_bulk_args), \
        .src = source, .dst = __VA_ARGS__})
/* Each thread stores its value to shared memory of a peer, in the background, and the bytes complete at an
 * mbarrier of that peer, which expects them: no fence, and no barrier of the cluster. dst, barrier:
 * sett_map_dsmem of one rank. val: as of sett_store, of a type of 4 or 8 bytes. dst: contiguous, and aligned
 * to the 4, 8 or 16 bytes that go at once; more are several stores.
 *
 *     sett_store_async(sett_map_dsmem(sett_slice(sums, me), r), sum, sett_map_dsmem(bar, r)); */
typedef struct sett_store_async_args {
    size_t size;
    sett_arg val;
    const sett_tensor *barrier;
    sett_val *pred;
} sett_store_async_args;
SETT_API void sett_store_async_at(sett_site, const sett_tensor *dst, const sett_store_async_args *);
#define sett_store_async(dst, x, ...) SETT_STORE_ASYNC_(SETT_HERE_VALUE(#x), dst, x, .barrier = __VA_ARGS__)
#define SETT_STORE_ASYNC_(here, dst, x, ...) \
    sett_store_async_at(here, dst, &(sett_store_async_args){.size = sizeof(sett_store_async_args), \
        .val = SETT_A(x), __VA_ARGS__})

#endif /* __cplusplus */
#endif
