/* SPDX-License-Identifier: Apache-2.0 */
/* What the hardware has beside arithmetic, under the names of cute.arch: copies in the background, barriers for some of a
 * block's warps, questions to a warp, fences, clocks. Each is an operation of the CPU engine too. An operation that a
 * target lacks is refused when it is compiled for it (SETT_E_TARGET, naming the line and the sm that has it).
 *
 * Warp operations take the whole warp: every lane must reach them together (the CPU engine faults where one is missing; on
 * a GPU that is undefined). In a block whose size is no multiple of 32 the last warp has the lanes that exist. */
#ifndef SETT_ARCH_H
#define SETT_ARCH_H
#include <limits.h>
#include <sett/tensor.h>
#include <sett/value.h>

#ifndef __cplusplus

/* ---- copies in the background: sm_80 ----------------------------------------------------- */
/* cp.async: copies gmem to smem while the thread goes on. Element i of src becomes element i of dst, as sett_copy does it;
 * both have a static shape, one type, and as many elements. Every copy is of 4, 8 or 16 bytes, as many as lie
 * together on both sides, with as much alignment: what cannot be proven to be 4 bytes wide is SETT_E_ALIGN, which names
 * the tensor, and sett_copy does it. The kernel's report names what was narrower than 16 bytes. Of types of 8 to 64 bits:
 * elements of 4 and 6 bits may begin inside a byte, and are SETT_E_DTYPE; tensors of them that were recast to u8 go.
 *
 * .pred: as of sett_copy_if. Elements where it is false are left as they are; with .zfill they become zeros, which
 * the copy writes itself. Where a predicate parts fewer than 4 bytes, those elements go through registers.
 * .cache: SETT_CACHE_ALWAYS (all levels) or SETT_CACHE_GLOBAL (past L1: 16 bytes only; others are as ALWAYS).
 * SETT_CACHE_DEFAULT is GLOBAL.
 *
 * When it is done is known by groups: commit_group makes one of all copies that the thread has issued since the last
 * group (none is a group too), and wait_group(n) waits until at most the n newest are not done. Then the THREAD sees what
 * it copied; the block sees it after a sett_sync_threads. sett_cp_async_wait_all waits for copies in no group too.
 *
 *     sett_cp_async(gA, sA, .pred = in, .zfill = true);
 *     sett_cp_async_commit_group(b);
 *     ...
 *     sett_cp_async_wait_group(b, STAGES - 2);
 *     sett_sync_threads(b);
 *
 * The CPU engine writes shared memory at the wait, so that who reads too early sees what was there before. */
typedef struct sett_cp_async_args {
    size_t size;
    const sett_tensor *src, *dst;
    sett_val *pred;
    bool zfill;
    sett_cache cache;
} sett_cp_async_args;
SETT_API void sett_cp_async_at(sett_site, const sett_cp_async_args *);
#define sett_cp_async(source, ...) \
    sett_cp_async_at(SETT_HERE, &(sett_cp_async_args){.size = sizeof(sett_cp_async_args), .src = source, .dst = __VA_ARGS__})
SETT_API void sett_cp_async_commit_group_at(sett_site, sett_build *);
#define sett_cp_async_commit_group(b) sett_cp_async_commit_group_at(SETT_HERE, b)
/* groups: 0 to 255, a constant. */
SETT_API void sett_cp_async_wait_group_at(sett_site, sett_build *, const char *func, int groups);
#define sett_cp_async_wait_group(b, groups) sett_cp_async_wait_group_at(SETT_HERE, b, "sett_cp_async_wait_group", groups)
#define sett_cp_async_wait_all(b) sett_cp_async_wait_group_at(SETT_HERE, b, "sett_cp_async_wait_all", INT_MIN)

/* Asks for the line of an element of gmem to be brought to L1, or to L2; one instruction, of which the CPU engine makes nothing.
 * An element that is not there is none that it asks for. */
typedef enum sett_prefetch_level { SETT_PREFETCH_L1, SETT_PREFETCH_L2 } sett_prefetch_level;
SETT_API void sett_prefetch_at(sett_site, const sett_tensor *, sett_prefetch_level, sett_arg coord);
#define sett_prefetch(t, level, ...) sett_prefetch_at(SETT_HERE_OF(#__VA_ARGS__), t, level, SETT_TUPLE(__VA_ARGS__))

/* ---- barriers and fences -------------------------------------------------------------------- */
/* A barrier for `threads` of the block's threads, those of whole warps: a multiple of 32. id: 1 to 15 (0 is
 * sett_sync_threads). Both may be dynamic, and are the same in all lanes of a warp. sett_barrier waits until so many have
 * come; sett_barrier_arrive counts, and goes on: what a producer does. Who waited sees what those who came have
 * written before. The CPU engine faults if two name one barrier with different counts. */
SETT_API void sett_barrier_at(sett_site, sett_build *, sett_arg id, sett_arg threads, bool wait);
#define sett_barrier(b, id, threads) sett_barrier_at(SETT_HERE, b, SETT_A(id), SETT_A(threads), true)
#define sett_barrier_arrive(b, id, threads) sett_barrier_at(SETT_HERE, b, SETT_A(id), SETT_A(threads), false)
/* The thread's earlier accesses are seen before its later ones, by threads of its block (CTA), device (GPU) or by all,
 * the host too (SYS). */
SETT_API void sett_fence_acq_rel_at(sett_site, sett_build *, sett_scope);
#define sett_fence_acq_rel_cta(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_CTA)
#define sett_fence_acq_rel_gpu(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_GPU)
#define sett_fence_acq_rel_sys(b) sett_fence_acq_rel_at(SETT_HERE, b, SETT_SCOPE_SYS)

/* ---- kernels that follow each other (programmatic dependent launch) --------------------------- */
/* A kernel with griddepcontrol_wait may begin, on sm_90 and later, while the kernels before it on its stream still run: its
 * launches ask for that by themselves, captured ones too. What it does before the wait overlaps their end; the wait lasts until they have
 * ended and all that they wrote is seen. Every thread that reads what they wrote, or writes what they use, waits first
 * (sett_if of one thread and a barrier do as well). Read before it what no kernel before it writes: weights, tables.
 * griddepcontrol_launch_dependents lets the next such kernel begin once every block has called it or ended: call it
 * as soon as the next one's blocks may take what this one leaves free, at the start as a rule. Without it they begin as
 * this one ends. Each of the two is allowed alone, anywhere, any number of times. Older targets and the CPU engine
 * begin a kernel when those before it have ended: there both are nothing. Every kernel that waits runs after all before
 * it, so a chain of them stays in order; one that has launch_dependents and no wait is launched as any other. */
SETT_API void sett_griddepcontrol_at(sett_site, sett_build *, bool wait);
#define sett_griddepcontrol_wait(b) sett_griddepcontrol_at(SETT_HERE, b, true)
#define sett_griddepcontrol_launch_dependents(b) sett_griddepcontrol_at(SETT_HERE, b, false)

/* ---- questions to a warp ---------------------------------------------------------------------- */
/* Of a Boolean scalar. all, any: Boolean. uni: Boolean, is it the same in all lanes? ballot: Uint32, bit l is lane l's. */
typedef enum sett_vote_op { SETT_VOTE_ALL, SETT_VOTE_ANY, SETT_VOTE_UNI, SETT_VOTE_BALLOT } sett_vote_op;
SETT_API sett_val *sett_vote_at(sett_site, const char *func, sett_val *pred, sett_vote_op);
#define sett_vote_all_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_all_sync", pred, SETT_VOTE_ALL)
#define sett_vote_any_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_any_sync", pred, SETT_VOTE_ANY)
#define sett_vote_uni_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_uni_sync", pred, SETT_VOTE_UNI)
#define sett_vote_ballot_sync(pred) sett_vote_at(SETT_HERE, "sett_vote_ballot_sync", pred, SETT_VOTE_BALLOT)
/* Uint32: the lanes whose scalar x has the same bits as this lane's (any), or all lanes if all have, else 0 (all). x: of
 * 8 to 64 bits. */
SETT_API sett_val *sett_match_at(sett_site, const char *func, sett_val *x, sett_vote_op);
#define sett_match_any_sync(x) sett_match_at(SETT_HERE, "sett_match_any_sync", x, SETT_VOTE_ANY)
#define sett_match_all_sync(x) sett_match_at(SETT_HERE, "sett_match_all_sync", x, SETT_VOTE_ALL)
/* All lanes' 32-bit integers folded by one instruction (sm_80): op is ADD, MIN, MAX, AND, OR or XOR. Other types, and older
 * targets: sett_warp_reduce. */
SETT_API sett_val *sett_warp_redux_sync_at(sett_site, sett_val *x, sett_binary_op op);
#define sett_warp_redux_sync(x, op) sett_warp_redux_sync_at(SETT_HERE, x, op)
/* Boolean: true in one lane of the warp; which one is not specified. sett_if (b, sett_elect_one(b)) ... */
SETT_API sett_val *sett_elect_one_at(sett_site, sett_build *);
#define sett_elect_one(b) sett_elect_one_at(SETT_HERE, b)
/* x of the warp's first lane, in all of it: what is the same anyway becomes provably so, and moves to uniform registers. */
#define sett_make_warp_uniform(x) sett_shuffle_at(SETT_HERE, "sett_make_warp_uniform", x, SETT_SHUFFLE_IDX, sett_arg_i(0), 32)
/* A scalar of every thread folded over the block; every thread gets the result. All threads of the block must call
 * it; it takes one smem element a warp, and two barriers. op as of sett_warp_reduce; the order of the fold is that of
 * the lanes' butterflies, then of the warps. The block's extents must be static (SETT_E_STATIC). */
SETT_API sett_val *sett_block_reduce_at(sett_site, sett_val *x, sett_binary_op op);
#define sett_block_reduce(x, op) sett_block_reduce_at(SETT_HERE, x, op)

/* ---- bits of integers ------------------------------------------------------------------------------- */
/* Elementwise, of signed and unsigned integers; operands of one call have one type. Any engine, the same bits.
 * popc: how many bits are 1; clz: zeros above the highest 1, of 0 the width; bfind: place of the highest bit that is not a copy
 * of the sign, -1 if there is none; all Int32. brev: the bits in reverse. 8 to 64 bits. */
SETT_API sett_val *sett_count_bits_at(sett_site, const char *func, sett_unary_op, sett_val *);
#define sett_popc(x) sett_count_bits_at(SETT_HERE, "sett_popc", SETT_POPC, x)
#define sett_clz(x) sett_count_bits_at(SETT_HERE, "sett_clz", SETT_CLZ, x)
#define sett_brev(x) sett_unary_at(SETT_HERE, "sett_brev", SETT_BREV, x)
SETT_API sett_val *sett_bfind_at(sett_site, sett_val *);
#define sett_bfind(x) sett_bfind_at(SETT_HERE, x)
/* The `len` bits of x from `pos` on, extended by their sign if x is signed; x with these bits replaced by the low ones of
 * `bits`. As bfe and bfi of PTX, of 32 and 64 bits; pos and len from 0 to 255, numbers or integer scalars. */
SETT_API sett_val *sett_bfe_at(sett_site, sett_val *x, sett_arg pos, sett_arg len);
#define sett_bfe(x, pos, len) sett_bfe_at(SETT_HERE, x, SETT_A(pos), SETT_A(len))
SETT_API sett_val *sett_bfi_at(sett_site, sett_val *bits, sett_val *x, sett_arg pos, sett_arg len);
#define sett_bfi(bits, x, pos, len) sett_bfi_at(SETT_HERE, bits, x, SETT_A(pos), SETT_A(len))
/* The whole product, twice as wide (of 64 bits: of 128), and its upper half. mul24: the low 32 bits of the product of the low 24
 * bits, with their sign if signed; mad24 adds z. Wide additions with carry: Int128 and Uint128. */
SETT_API sett_val *sett_mul_wide_at(sett_site, const char *func, sett_val *, sett_val *);
#define sett_mul_wide(x, y) sett_mul_wide_at(SETT_HERE, "sett_mul_wide", x, y)
SETT_API sett_val *sett_mul_hi_at(sett_site, sett_val *, sett_val *);
#define sett_mul_hi(x, y) sett_mul_hi_at(SETT_HERE, x, y)
SETT_API sett_val *sett_mul24_at(sett_site, const char *func, sett_val *, sett_val *);
#define sett_mul24(x, y) sett_mul24_at(SETT_HERE, "sett_mul24", x, y)
#define sett_mad24(x, y, z) sett_add(sett_mul24_at(SETT_HERE, "sett_mad24", x, y), z)
/* Sum and difference that stop at the ends of the type. */
SETT_API sett_val *sett_saturate_at(sett_site, const char *func, sett_val *, sett_val *, bool sub);
#define sett_add_sat(x, y) sett_saturate_at(SETT_HERE, "sett_add_sat", x, y, false)
#define sett_sub_sat(x, y) sett_saturate_at(SETT_HERE, "sett_sub_sat", x, y, true)
/* Bit by bit, bit 4x + 2y + z of the table `lut`: with 0xf0, 0xcc and 0xaa for x, y and z, x & y ^ z is 0xf0 & 0xcc ^ 0xaa. */
SETT_API sett_val *sett_lop3_at(sett_site, sett_val *x, sett_val *y, sett_val *z, int lut);
#define sett_lop3(x, y, z, lut) sett_lop3_at(SETT_HERE, x, y, z, lut)
/* 32 of the 64 bits hi:lo, shifted by n modulo 32: left, the upper ones; right, the lower ones. */
SETT_API sett_val *sett_shf_at(sett_site, const char *func, sett_val *lo, sett_val *hi, sett_arg n, bool left);
#define sett_shf_l(lo, hi, n) sett_shf_at(SETT_HERE, "sett_shf_l", lo, hi, SETT_A(n), true)
#define sett_shf_r(lo, hi, n) sett_shf_at(SETT_HERE, "sett_shf_r", lo, hi, SETT_A(n), false)
/* Four of the eight bytes y:x, by the selector's digits of 4 bits, the lowest first: which one, and with 8 added its sign,
 * eight times. prmt of PTX, of 32 bits. */
SETT_API sett_val *sett_prmt_at(sett_site, sett_val *x, sett_val *y, sett_arg selector);
#define sett_prmt(x, y, selector) sett_prmt_at(SETT_HERE, x, y, SETT_A(selector))

/* ---- ids, clocks, sizes -------------------------------------------------------------------------- */
/* Read where they stand, and anew each time. Uint32, but gridid, clock64 and globaltimer (ns) Uint64. The CPU engine
 * is one processor, and its clocks count ns. physical_warp_id may change while a kernel runs, as in PTX. */
typedef enum sett_sreg {
    SETT_SREG_SMID, SETT_SREG_NSMID, SETT_SREG_PHYSICAL_WARP_ID, SETT_SREG_NWARPID, SETT_SREG_GRIDID, SETT_SREG_CLOCK,
    SETT_SREG_CLOCK64, SETT_SREG_GLOBALTIMER, SETT_SREG_ACTIVEMASK, SETT_SREG_DYNAMIC_SMEM_SIZE, SETT_SREG_TOTAL_SMEM_SIZE,
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
/* Uint32: the bit of the thread's own lane, and of the lanes of its warp before it, up to it, behind it, from it on. */
typedef enum sett_lanemask { SETT_LANEMASK_EQ, SETT_LANEMASK_LT, SETT_LANEMASK_LE, SETT_LANEMASK_GT, SETT_LANEMASK_GE } sett_lanemask;
SETT_API sett_val *sett_lanemask_at(sett_site, sett_build *, const char *func, sett_lanemask);
#define sett_lanemask_eq(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_eq", SETT_LANEMASK_EQ)
#define sett_lanemask_lt(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_lt", SETT_LANEMASK_LT)
#define sett_lanemask_le(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_le", SETT_LANEMASK_LE)
#define sett_lanemask_gt(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_gt", SETT_LANEMASK_GT)
#define sett_lanemask_ge(b) sett_lanemask_at(SETT_HERE, b, "sett_lanemask_ge", SETT_LANEMASK_GE)
#define sett_dynamic_smem_size(b) sett_special_at(SETT_HERE, b, SETT_SREG_DYNAMIC_SMEM_SIZE)
#define sett_total_smem_size(b) sett_special_at(SETT_HERE, b, SETT_SREG_TOTAL_SMEM_SIZE)

/* ---- PTX of your own ------------------------------------------------------------------------------- */
/* What sett has no function for, in the assembler's words. $0, $1, ... are the results and, after them, the operands, each
 * named at least once; $$ is a dollar. Several instructions are separated by `;`, and registers and labels of their own stand
 * in braces. A Boolean is a predicate register: `@$1 ...` guards by one, `setp` gives one.
 *
 *     r = sett_inline_ptx(b, "lop3.b32 $0, $1, $2, $3, 0x96;", .result = {SETT_U32}, .in = SETT_IN(x, y, z), .stand_in = "xor3");
 *     sett_inline_ptx(b, "{ add.cc.u32 $0, $2, $4; addc.u32 $1, $3, $5; }", .result = {SETT_U32, SETT_U32}, .to = sum,
 *         .in = SETT_IN(x_lo, x_hi, y_lo, y_hi), .stand_in = "add64");
 *     sett_inline_ptx(b, "nanosleep.u32 $0;", .in = SETT_IN(100), .stand_in = "nap");
 *
 * Returns the first result (without results nothing to use), and puts all of them into .to, an array of as many. Operands are
 * values, or C numbers: Int32 (Int64 where it does not fit), with a fraction Float32. Types are Boolean and those of 8, 16, 32
 * and 64 bits; of 8 bits the register has 16, extended by the sign; floats of 8 and 16 bits and tf32 come as their bits (b16,
 * b32). Operands with a shape (all the same; scalars beside them) go element by element, one piece of PTX each, and the
 * results have that shape.
 *
 * The text has no effect but its results, unless it is .is_volatile (never dropped, merged or moved past another such one; what
 * has no result is) or .memory (volatile, and it reads or writes memory; what has an address, `[$1]`, is, but a mere hint,
 * SETT_NOTHING). .least_sm, .least_ptx: what it needs, 90 and 78 for
 * sm_90 and PTX 7.8: an older target is refused (SETT_E_TARGET), and the PTX is of that version. What the assembler refuses
 * is SETT_E_ASSEMBLE with its text, in front of it the line of this call. All of it is in the key.
 *
 * .stand_in: the name of a C function that does the same for one thread: what the CPU engine calls. The program gives it to the
 * engine by sett_engine_stand_in() before it launches; without, a launch on the CPU is SETT_E_TARGET. What lanes give each
 * other (shfl, mma) has no stand-in. SETT_E_ARGUMENT: the text names no such operand, leaves one out, does not end in ; or },
 * or holds another byte than a printable one. */
#define SETT_NOTHING "sett.nothing" /* a .stand_in: without results; the CPU engine does nothing, and needs no function */
enum { SETT_INLINE_RESULTS = 16 };
typedef struct sett_operands { int n; const sett_arg *arg; } sett_operands; /* up to 32 */
#define SETT_IN(...) ((sett_operands){SETT_NARG(__VA_ARGS__), (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)}})
typedef struct sett_inline_ptx_args {
    size_t size;
    const char *text;
    sett_dtype result[SETT_INLINE_RESULTS]; /* the first that is 0 ends them */
    sett_val **to;
    sett_operands in;
    const char *stand_in;
    bool is_volatile, memory;
    int least_sm, least_ptx;
} sett_inline_ptx_args;
/* Where an element of gmem lies, an Uint64, for such PTX as an operand of `[$1]`: sett_address(t, i, j). The kernel counts as
 * one that reads and writes the parameter. A stand-in gets the address too, and what it does with it nobody checks.
 *
 *     sett_inline_ptx(b, "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};", .in = SETT_IN(sett_address(Y, i), x, y, z, w),
 *         .memory = true, .least_sm = 90, .least_ptx = 81, .stand_in = "add4"); */
SETT_API sett_val *sett_address_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_address(t, ...) sett_address_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
SETT_API sett_val *sett_inline_ptx_at(sett_site, sett_build *, const sett_inline_ptx_args *);
#define sett_inline_ptx(b, ...) \
    sett_inline_ptx_at(SETT_HERE, b, &(sett_inline_ptx_args){.size = sizeof(sett_inline_ptx_args), .text = __VA_ARGS__})

#endif /* __cplusplus */
#endif
