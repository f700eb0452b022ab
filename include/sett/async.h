/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on beside the thread that starts it: copies in the background, prefetches, and kernels that begin
 * before the kernel in front of them has ended. Names are those of cute.arch. The CPU engine has all of them.
 * A target that lacks an operation refuses the kernel when it is compiled: SETT_E_TARGET, with the line of
 * the call and the first sm that has it. */
#ifndef SETT_ASYNC_H
#define SETT_ASYNC_H
#include <limits.h>
#include <sett/tensor.h>

#ifndef __cplusplus

/* ---- copies in the background: sm_80 ----------------------------------------------------- */
/* cp.async: starts a copy from gmem to smem, and the thread goes on. Element i of src becomes element i of
 * dst, as in sett_copy. Both have a static shape, one type, and the same size. The copy is made of pieces of
 * 4, 8 or 16 bytes: as wide as elements are adjacent and aligned on both sides. SETT_E_ALIGN, with the name
 * of the tensor: 4 bytes cannot be proven; use sett_copy. The kernel's report names copies narrower than 16
 * bytes. Types have 8 to 64 bits. Elements of 4 and 6 bits are SETT_E_DTYPE, because they may begin inside a
 * byte: recast such tensors to u8.
 *
 * .pred: as of sett_copy_if. Where it is false the element of dst keeps its value; with .zfill the copy
 * writes a zero. Where the predicate separates elements of one piece of 4 bytes, those elements go through
 * registers.
 * .cache: SETT_CACHE_ALWAYS (all levels), or SETT_CACHE_GLOBAL (past L1; only pieces of 16 bytes, others as
 * ALWAYS). SETT_CACHE_DEFAULT is GLOBAL.
 *
 * A thread waits for its copies by groups. commit_group makes one group of all copies that the thread has
 * started since the last group; a group may be empty. wait_group(n) waits until at most the n newest groups
 * are not complete. Then this THREAD sees what it copied; the block sees it after a sett_sync_threads.
 * sett_cp_async_wait_all waits for all copies, also those in no group.
 *
 *     sett_cp_async(gA, sA, .pred = in, .zfill = true);
 *     sett_cp_async_commit_group(b);
 *     ...
 *     sett_cp_async_wait_group(b, STAGES - 2);
 *     sett_sync_threads(b);
 *
 * The CPU engine writes shared memory only at the wait, so a thread that reads too early sees the old
 * contents. */
typedef struct sett_cp_async_args {
    size_t size;
    const sett_tensor *src, *dst;
    sett_val *pred;
    bool zfill;
    sett_cache cache;
} sett_cp_async_args;
SETT_API void sett_cp_async_at(sett_site, const sett_cp_async_args *);
#define sett_cp_async(source, ...) \
    sett_cp_async_at(SETT_HERE, &(sett_cp_async_args){.size = sizeof(sett_cp_async_args), .src = source, \
        .dst = __VA_ARGS__})
SETT_API void sett_cp_async_commit_group_at(sett_site, sett_build *);
#define sett_cp_async_commit_group(b) sett_cp_async_commit_group_at(SETT_HERE, b)
/* groups: a C number from 0 to 255. */
SETT_API void sett_cp_async_wait_group_at(sett_site, sett_build *, const char *func, int groups);
#define sett_cp_async_wait_group(b, groups) \
    sett_cp_async_wait_group_at(SETT_HERE, b, "sett_cp_async_wait_group", groups)
#define sett_cp_async_wait_all(b) sett_cp_async_wait_group_at(SETT_HERE, b, "sett_cp_async_wait_all", INT_MIN)

/* Asks for the cache line of an element of gmem to be brought to L1, or to L2. The CPU engine does nothing.
 * An element outside of the tensor is not asked for. */
typedef enum sett_prefetch_level { SETT_PREFETCH_L1, SETT_PREFETCH_L2 } sett_prefetch_level;
SETT_API void sett_prefetch_at(sett_site, const sett_tensor *, sett_prefetch_level, sett_arg coord);
#define sett_prefetch(t, level, ...) \
    sett_prefetch_at(SETT_HERE_OF(#__VA_ARGS__), t, level, SETT_TUPLE(__VA_ARGS__))

/* ---- kernels that follow each other (programmatic dependent launch) --------------------------- */
/* A kernel with griddepcontrol_wait may begin, on sm_90 and later, while the kernels before it on its stream
 * still run; its launches, captured ones too, ask the driver for that. Its code before the wait overlaps the
 * end of those kernels. The wait lasts until they have ended and all that they wrote is visible. Every thread
 * that reads what they wrote, or writes what they use, waits first (or one thread waits in a sett_if, and a
 * barrier follows). Before the wait read only what no kernel in front writes, such as weights and tables.
 * griddepcontrol_launch_dependents lets the next such kernel begin once every block has called it or ended.
 * Call it as soon as the next kernel's blocks may take what this kernel leaves free, at the start as a rule.
 * Without it the next kernel begins as this one ends.
 * A kernel may have either call, or both, anywhere, any number of times. Older targets and the CPU engine
 * begin a kernel when those before it have ended, and both calls do nothing there. What follows the wait of a
 * kernel runs after all kernels before it, so a chain of them stays in order. PTX does not say that the wait
 * orders proxies: a kernel that reads by TMA, or in bulk, what threads of the one before stored calls
 * sett_fence_proxy(b, SETT_PROXY_ASYNC) (cluster.h) behind it. A kernel with launch_dependents
 * and no wait is launched as any other. */
SETT_API void sett_griddepcontrol_at(sett_site, sett_build *, bool wait);
#define sett_griddepcontrol_wait(b) sett_griddepcontrol_at(SETT_HERE, b, true)
#define sett_griddepcontrol_launch_dependents(b) sett_griddepcontrol_at(SETT_HERE, b, false)

#endif /* __cplusplus */
#endif
