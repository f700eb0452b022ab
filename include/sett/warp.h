/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a warp or of a block do together: shuffles, votes, reductions, named barriers, fences;
 * and what they ask the machine: ids, clocks, sizes. Names are those of cute.arch. The CPU engine has all of
 * them. A target that lacks an operation refuses the kernel when it is compiled: SETT_E_TARGET, with the line
 * of the call and the first sm that has it.
 *
 * A warp operation must be reached by every lane of the warp together. (Else the CPU engine faults, and a
 * GPU's result is undefined.) If the block's size is no multiple of 32, the last warp has only the lanes that
 * exist. */
#ifndef SETT_WARP_H
#define SETT_WARP_H
#include <sett/tensor.h>
#include <sett/value.h>

#ifndef __cplusplus

/* ---- a warp's lanes ----------------------------------------------------------- */
/* The value that another lane holds, in this lane's group of `width` lanes (a power of two from 2 to 32).
 * idx: the lane of this index, which wraps within the group. up, down: the lane so many below or above; past
 * the group's ends, this lane's own value. bfly: the lane whose number is this lane's XOR mask; with a mask
 * of at least the width it may be in an earlier group, and for one in a later group this lane's own value is
 * given, as in PTX. */
typedef enum sett_shuffle_op { SETT_SHUFFLE_IDX, SETT_SHUFFLE_UP, SETT_SHUFFLE_DOWN,
    SETT_SHUFFLE_BFLY } sett_shuffle_op;
SETT_API sett_val *sett_shuffle_at(sett_site, const char *func, sett_val *, sett_shuffle_op, sett_arg lane,
    int width);
#define sett_shuffle_sync(x, lane, width) \
    sett_shuffle_at(SETT_HERE, "sett_shuffle_sync", SETT_V(x), SETT_SHUFFLE_IDX, SETT_A(lane), width)
#define sett_shuffle_sync_up(x, delta, width) \
    sett_shuffle_at(SETT_HERE, "sett_shuffle_sync_up", SETT_V(x), SETT_SHUFFLE_UP, SETT_A(delta), width)
#define sett_shuffle_sync_down(x, delta, width) \
    sett_shuffle_at(SETT_HERE, "sett_shuffle_sync_down", SETT_V(x), SETT_SHUFFLE_DOWN, SETT_A(delta), width)
#define sett_shuffle_sync_bfly(x, mask, width) \
    sett_shuffle_at(SETT_HERE, "sett_shuffle_sync_bfly", SETT_V(x), SETT_SHUFFLE_BFLY, SETT_A(mask), width)
/* Reduces x over groups of `width` lanes, by butterflies; every lane gets the result. */
SETT_API sett_val *sett_warp_reduce_at(sett_site, sett_val *, sett_binary_op, int width);
#define sett_warp_reduce(x, op, width) sett_warp_reduce_at(SETT_HERE, SETT_V(x), op, width)

/* ---- votes, matches and reductions ------------------------------------------------------------- */
/* Questions about a Boolean scalar of all lanes. all, any: Boolean. uni: Boolean, is it the same in all
 * lanes? ballot: Uint32, bit l is lane l's. */
typedef enum sett_vote_op { SETT_VOTE_ALL, SETT_VOTE_ANY, SETT_VOTE_UNI, SETT_VOTE_BALLOT } sett_vote_op;
SETT_API sett_val *sett_vote_at(sett_site, const char *func, sett_val *pred, sett_vote_op);
#define sett_vote_all_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_all_sync", pred, SETT_VOTE_ALL)
#define sett_vote_any_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_any_sync", pred, SETT_VOTE_ANY)
#define sett_vote_uni_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_uni_sync", pred, SETT_VOTE_UNI)
#define sett_vote_ballot_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_ballot_sync", pred, SETT_VOTE_BALLOT)
/* Compares a scalar x, of 8 to 64 bits, between lanes, bit by bit. match_any: Uint32, a bit for each lane
 * that has the same x as this lane. match_all: Uint32, the bits of all lanes if all have the same x, else 0.
 * */
SETT_API sett_val *sett_match_at(sett_site, const char *func, sett_val *x, sett_vote_op);
#define sett_match_any_sync(x) sett_match_at(SETT_HERE, "sett_match_any_sync", x, SETT_VOTE_ANY)
#define sett_match_all_sync(x) sett_match_at(SETT_HERE, "sett_match_all_sync", x, SETT_VOTE_ALL)
/* Reduces a 32-bit integer over all lanes by one instruction (sm_80). op is ADD, MIN, MAX, AND, OR or XOR.
 * For other types and older targets use sett_warp_reduce. */
SETT_API sett_val *sett_warp_redux_sync_at(sett_site, sett_val *x, sett_binary_op op);
#define sett_warp_redux_sync(x, op) sett_warp_redux_sync_at(SETT_HERE, x, op)
/* Boolean: true in one lane of the warp, not specified which. sett_if (b, sett_elect_one(b)) ... */
SETT_API sett_val *sett_elect_one_at(sett_site, sett_build *);
#define sett_elect_one(b) sett_elect_one_at(SETT_HERE, b)
/* Gives all lanes the x of the warp's first lane. If x is the same in all lanes anyway, this lets the
 * compiler know it, and keep x in uniform registers. */
#define sett_make_warp_uniform(x) \
    sett_shuffle_at(SETT_HERE, "sett_make_warp_uniform", SETT_V(x), SETT_SHUFFLE_IDX, sett_arg_i(0), 32)
/* Reduces a scalar over all threads of the block; every thread gets the result. All threads of the block must
 * reach it. It uses two barriers, and smem of one element for each warp. op as of sett_warp_reduce. It folds
 * the lanes of each warp by butterflies, then the warps. SETT_E_STATIC: the block's extents are not static,
 * or are given behind the call.
 * SETT_E_DIVIDE: the block is not of whole warps, as one of 48 threads. */
SETT_API sett_val *sett_block_reduce_at(sett_site, sett_val *x, sett_binary_op op);
#define sett_block_reduce(x, op) sett_block_reduce_at(SETT_HERE, x, op)

/* ---- barriers and fences -------------------------------------------------------------------- */
/* A named barrier. threads: how many of the block's threads take part, a multiple of 32, in whole warps. id:
 * 1 to 15 (0 is that of sett_sync_threads). Both may be dynamic, but must be the same in all lanes of a warp.
 * sett_barrier waits until that many threads have reached it; sett_barrier_arrive counts this thread and goes
 * on, as a producer does. A thread that waited sees what the others wrote before they reached it. The CPU
 * engine faults if two calls give one barrier different counts. */
SETT_API void sett_barrier_at(sett_site, sett_build *, sett_arg id, sett_arg threads, bool wait);
#define sett_barrier(b, id, threads) sett_barrier_at(SETT_HERE, b, SETT_A(id), SETT_A(threads), true)
#define sett_barrier_arrive(b, id, threads) sett_barrier_at(SETT_HERE, b, SETT_A(id), SETT_A(threads), false)
/* Orders memory: other threads see this thread's accesses before the fence before those after it. cta:
 * threads of the block; gpu: of the device; sys: of all devices and the host. */
SETT_API void sett_fence_acq_rel_at(sett_site, sett_build *, sett_scope);
#define sett_fence_acq_rel_cta(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_CTA)
#define sett_fence_acq_rel_gpu(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_GPU)
#define sett_fence_acq_rel_sys(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_SYS)

/* ---- ids, clocks, sizes -------------------------------------------------------------------------- */
/* Registers of the machine, read anew by each call. gridid, clock64 and globaltimer (ns) are Uint64, the
 * others Uint32. The CPU engine is one processor whose clocks count ns. physical_warp_id may change while a
 * kernel runs, as in PTX. */
typedef enum sett_sreg {
    SETT_SREG_SMID, SETT_SREG_NSMID, SETT_SREG_PHYSICAL_WARP_ID, SETT_SREG_NWARPID, SETT_SREG_GRIDID,
        SETT_SREG_CLOCK,
    SETT_SREG_CLOCK64, SETT_SREG_GLOBALTIMER, SETT_SREG_ACTIVEMASK, SETT_SREG_DYNAMIC_SMEM_SIZE,
        SETT_SREG_TOTAL_SMEM_SIZE,
} sett_sreg;
SETT_API sett_val *sett_special_at(sett_site, sett_build *, sett_sreg);
#define sett_smid(b) sett_special_at(SETT_HERE, b, SETT_SREG_SMID)
#define sett_nsmid(b) sett_special_at(SETT_HERE, b, SETT_SREG_NSMID)
#define sett_physical_warp_id(b) sett_special_at(SETT_HERE, b, SETT_SREG_PHYSICAL_WARP_ID)
#define sett_nwarpid(b) sett_special_at(SETT_HERE, b, SETT_SREG_NWARPID)
#define sett_gridid(b) sett_special_at(SETT_HERE, b, SETT_SREG_GRIDID)
#define sett_clock(b) sett_special_at(SETT_HERE, b, SETT_SREG_CLOCK)
#define sett_clock64(b) sett_special_at(SETT_HERE, b, SETT_SREG_CLOCK64)
#define sett_globaltimer(b) sett_special_at(SETT_HERE, b, SETT_SREG_GLOBALTIMER)
#define sett_globaltimer_lo(b) sett_to(sett_globaltimer(b), SETT_U32)
#define sett_activemask(b) sett_special_at(SETT_HERE, b, SETT_SREG_ACTIVEMASK)
/* Uint32, a bit for each lane of the warp that is this lane (eq), below it (lt), below it or it (le), above
 * it (gt), it or above it (ge). */
typedef enum sett_lanemask { SETT_LANEMASK_EQ, SETT_LANEMASK_LT, SETT_LANEMASK_LE, SETT_LANEMASK_GT,
    SETT_LANEMASK_GE } sett_lanemask;
SETT_API sett_val *sett_lanemask_at(sett_site, sett_build *, const char *func, sett_lanemask);
#define sett_lanemask_eq(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_eq", SETT_LANEMASK_EQ)
#define sett_lanemask_lt(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_lt", SETT_LANEMASK_LT)
#define sett_lanemask_le(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_le", SETT_LANEMASK_LE)
#define sett_lanemask_gt(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_gt", SETT_LANEMASK_GT)
#define sett_lanemask_ge(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_ge", SETT_LANEMASK_GE)
#define sett_dynamic_smem_size(b) sett_special_at(SETT_HERE, b, SETT_SREG_DYNAMIC_SMEM_SIZE)
#define sett_total_smem_size(b) sett_special_at(SETT_HERE, b, SETT_SREG_TOTAL_SMEM_SIZE)

#endif /* __cplusplus */
#endif
