/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: blocks that run at the same time on neighbouring multiprocessors, read and write each other's
 * shared memory, and wait for each other. And what a kernel says of its registers. From sm_90 on; names are
 * those of cute.arch.
 *
 *     sett_grid(b, sett_round_up(rows, 4));
 *     sett_block(b, 128);
 *     sett_cluster(b, 4);                                        four blocks, beside each other in x
 *     sett_tensor *sums = sett_make_smem_tensor(b, SETT_F32, 4, 16);
 *     sett_val *rank = sett_block_idx_in_cluster(b);             0 to 3
 *     sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
 *         sett_for (b, r, 0, 4, 1)
 *             sett_set(sett_map_dsmem(sums, r), mine, rank);     into the shared memory of block r
 *     sett_cluster_sync(b);                                      each block now has all four sums
 *     ... read sums ...
 *     sett_cluster_sync(b);                             no block ends while a peer may still reach its memory
 *
 * Shared memory of a peer exists from the moment that all blocks of the cluster run until the peer ends: a
 * kernel that reaches into a peer has a sett_cluster_sync before the first such access, and another behind
 * the last one. The CPU engine runs all of this, and reports an access to a block that has ended. */
#ifndef SETT_CLUSTER_H
#define SETT_CLUSTER_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* ---- the launch ------------------------------------------------------------------------------------- */
/* The blocks of a cluster: one to three C numbers, which together are at most 16; extents that are not given
 * are 1. Each extent of the grid must be a multiple of the cluster's: use sett_round_up, and let the blocks
 * that are too many do nothing. SETT_E_DIVIDE: it is not, at compile time if the grid is static, else at the
 * launch, with both numbers. All GPUs of sm_90 and later take up to 8 blocks; some take 16
 * (sett_max_active_clusters is 0 where none fits). Call it before any other call of this header. A cluster of
 * one block needs no sm_90. */
SETT_API void sett_cluster_at(sett_site, sett_build *, sett_arg);
#define sett_cluster(b, ...) sett_cluster_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
/* Hints for the assembler, C numbers. max_registers: a thread has at most so many, 1 to 255. min_blocks: a
 * multiprocessor shall have room for so many blocks at once; the block's extents must be static. */
typedef enum sett_launch_hint { SETT_MAX_REGISTERS, SETT_MIN_BLOCKS, SETT_COOPERATIVE } sett_launch_hint;
SETT_API void sett_launch_hint_at(sett_site, sett_build *, const char *func, sett_launch_hint, int64_t n);
#define sett_max_registers(b, n) \
    sett_launch_hint_at(SETT_HERE, b, "sett_max_registers", SETT_MAX_REGISTERS, n)
#define sett_min_blocks(b, n) sett_launch_hint_at(SETT_HERE, b, "sett_min_blocks", SETT_MIN_BLOCKS, n)
/* All blocks of the grid run at once, so that they may wait for each other. A launch of more blocks than fit
 * is refused. */
#define sett_cooperative(b) sett_launch_hint_at(SETT_HERE, b, "sett_cooperative", SETT_COOPERATIVE, 1)

/* ---- who a block is ---------------------------------------------------------------------------------- */
/* Int32. cluster_idx: of the cluster in the grid. cluster_dim: how many clusters the grid has.
 * block_in_cluster_idx: of the block in its cluster; block_in_cluster_dim: how many blocks the cluster has.
 * dim 0 is x. block_idx_in_cluster: the block's rank, one number from 0 to cluster_size - 1, x fastest: what
 * sett_map_dsmem takes. */
typedef enum sett_cluster_id {
    SETT_CLUSTER_IDX, SETT_CLUSTER_DIM, SETT_BLOCK_IN_CLUSTER_IDX, SETT_BLOCK_IN_CLUSTER_DIM,
        SETT_BLOCK_IDX_IN_CLUSTER, SETT_CLUSTER_SIZE
} sett_cluster_id;
SETT_API sett_val *sett_cluster_id_at(sett_site, sett_build *, const char *func, sett_cluster_id, int dim);
#define sett_cluster_idx(b, dim) sett_cluster_id_at(SETT_HERE, b, "sett_cluster_idx", SETT_CLUSTER_IDX, dim)
#define sett_cluster_dim(b, dim) sett_cluster_id_at(SETT_HERE, b, "sett_cluster_dim", SETT_CLUSTER_DIM, dim)
#define sett_block_in_cluster_idx(b, dim) \
    sett_cluster_id_at(SETT_HERE, b, "sett_block_in_cluster_idx", SETT_BLOCK_IN_CLUSTER_IDX, dim)
#define sett_block_in_cluster_dim(b, dim) \
    sett_cluster_id_at(SETT_HERE, b, "sett_block_in_cluster_dim", SETT_BLOCK_IN_CLUSTER_DIM, dim)
#define sett_block_idx_in_cluster(b) \
    sett_cluster_id_at(SETT_HERE, b, "sett_block_idx_in_cluster", SETT_BLOCK_IDX_IN_CLUSTER, 0)
#define sett_cluster_size(b) sett_cluster_id_at(SETT_HERE, b, "sett_cluster_size", SETT_CLUSTER_SIZE, 0)

/* ---- waiting for the cluster ----------------------------------------------------------------------------
 * */
/* All threads of all blocks of the cluster arrive and then wait; each does both, in turn, once each. What a
 * thread wrote before it arrived is seen by all behind the wait, shared memory of peers too; arrive_relaxed
 * promises nothing about memory. Between the two a thread may do what needs no peer. cluster_sync is arrive
 * and wait. A thread that ends has arrived. */
typedef enum sett_cluster_step { SETT_CLUSTER_ARRIVE, SETT_CLUSTER_ARRIVE_RELAXED, SETT_CLUSTER_WAIT,
    SETT_CLUSTER_SYNC } sett_cluster_step;
SETT_API void sett_cluster_step_at(sett_site, sett_build *, const char *func, sett_cluster_step);
#define sett_cluster_arrive(b) sett_cluster_step_at(SETT_HERE, b, "sett_cluster_arrive", SETT_CLUSTER_ARRIVE)
#define sett_cluster_arrive_relaxed(b) \
    sett_cluster_step_at(SETT_HERE, b, "sett_cluster_arrive_relaxed", SETT_CLUSTER_ARRIVE_RELAXED)
#define sett_cluster_wait(b) sett_cluster_step_at(SETT_HERE, b, "sett_cluster_wait", SETT_CLUSTER_WAIT)
#define sett_cluster_sync(b) sett_cluster_step_at(SETT_HERE, b, "sett_cluster_sync", SETT_CLUSTER_SYNC)

/* ---- shared memory of a peer --------------------------------------------------------------------------- */
/* The same tensor in the block of this rank: its layout, at the same place of that block's shared memory
 * (CuTe's map_dsmem_ptr). Loads, stores and atomics take it. Of mbarriers it is what arrives at the peer's.
 * The block's own rank gives its own memory. The tensor may be used in the region where it is made.
 * SETT_E_RANGE: there is no such rank. */
SETT_API sett_tensor *sett_map_dsmem_at(sett_site, const sett_tensor *, sett_arg rank);
#define sett_map_dsmem(t, rank) sett_map_dsmem_at(SETT_HERE, t, SETT_A(rank))

/* ---- registers of a warp group ----------------------------------------------------------------------------
 * */
/* From here on each thread of the warp group has n registers: a multiple of 8, 24 to 256. All warps of the
 * group of 128 threads must reach it. Groups that only copy give registers away (decrease), so that groups
 * that compute may have more (increase), which waits until they are free. All that a block's threads have
 * together stays at most what they began with. A kernel that has none of the hints gets sett_min_blocks(b,
 * 1), since the registers at its entry must be known. Of a target with a suffix, such as sm_90a. Only ptxas
 * keeps it: other assemblers build the kernel without it. */
SETT_API void sett_setmaxregister_at(sett_site, sett_build *, const char *func, bool increase, int64_t n);
#define sett_setmaxregister_increase(b, n) \
    sett_setmaxregister_at(SETT_HERE, b, "sett_setmaxregister_increase", true, n)
#define sett_setmaxregister_decrease(b, n) \
    sett_setmaxregister_at(SETT_HERE, b, "sett_setmaxregister_decrease", false, n)

/* ---- fences
 * ------------------------------------------------------------------------------------------------- */
/* mbarrier_init: the thread's sett_mbarrier_init calls are seen by the cluster, and by copies; then the
 * threads meet.
 * proxy: orders the thread's own accesses before it and those of the bulk engine (TMA, wgmma) behind it, of
 * all memory, shared or global. sett_fence_view_async_shared (mma.h) is the one of shared memory.
 * acq_rel_cluster: as the fences of warp.h, of the cluster's threads. */
typedef enum sett_proxy { SETT_PROXY_ASYNC, SETT_PROXY_ASYNC_SHARED, SETT_PROXY_ASYNC_GLOBAL } sett_proxy;
SETT_API void sett_fence_proxy_at(sett_site, sett_build *, sett_proxy);
#define sett_fence_proxy(b, kind) sett_fence_proxy_at(SETT_HERE, b, kind)
SETT_API void sett_fence_mbarrier_init_at(sett_site, sett_build *);
#define sett_fence_mbarrier_init(b) sett_fence_mbarrier_init_at(SETT_HERE, b)
#define sett_fence_acq_rel_cluster(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_CLUSTER)

#endif /* __cplusplus */
#endif
