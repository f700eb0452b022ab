/* SPDX-License-Identifier: Apache-2.0 */
/* What runs beside the thread that asks for it: copies in the background, prefetches, and kernels that begin before the
 * kernel in front of them has ended. Names are those of cute.arch. The CPU engine has each of these operations too. An
 * operation that a target lacks is refused when a kernel is compiled for it: SETT_E_TARGET, with the line of the call and the
 * sm that has it. */
#ifndef SETT_ASYNC_H
#define SETT_ASYNC_H
#include <limits.h>
#include <sett/tensor.h>

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

#endif /* __cplusplus */
#endif
