/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel does over time and with other threads. These emit: sett_for and sett_while are loops
 * at run time, sett_if a branch at run time. A plain C for or if is evaluated while the
 * kernel is built: it unrolls, or chooses (CuTe's constexpr).
 *
 *     sett_for (b, i, 0, n, 1) {
 *         sett_if (b, sett_lt(i, 3))
 *             sett_set(acc, i, 0);
 *         sett_else (b)
 *             sett_set(acc, 0, 0);
 *     }
 *
 * A value made in a region is not to be used after it (SETT_E_REGION): state that outlives one is held in
 * rmem tensors and sett_var. Leaving a region by break, return or goto, or recording between
 * sett_if and its sett_else, is an error at its line. */
#ifndef SETT_CONTROL_H
#define SETT_CONTROL_H
#include <sett/arg.h>

#ifndef __cplusplus

typedef struct sett_region {
    sett_build *b;
    sett_val *iv;
    uint32_t serial;
    bool open, done;
    struct sett__copies *copies;
} sett_region;
typedef struct sett_for_options {
    size_t size;
    int unroll;       /* copies of the body in a round; 0, 1: one */
    bool unroll_full; /* one copy for each number, and no loop: bounds and step are static */
    const char *name; /* of the variable, in messages and reports: sett_for gives it */
} sett_for_options;
SETT_API sett_region sett_for_begin(sett_site, sett_build *, sett_arg lo, sett_arg hi, sett_arg step, const sett_for_options *);
SETT_API sett_val *sett_region_next(sett_region *); /* the variable of the body's next copy, or NULL */
SETT_API sett_region sett_while_begin(sett_site, sett_build *);
SETT_API void sett_while_test(sett_site, sett_region *, sett_val *cond);
SETT_API sett_region sett_if_begin(sett_site, sett_build *, sett_val *cond);
SETT_API sett_region sett_else_begin(sett_site, sett_build *);
SETT_API void sett_region_end(sett_region *);
/* Two loops: the inner runs the body once, and only its completion, not a break, sets done. */
#define SETT_REGION(r, begin) for (sett_region r = begin; r.open; sett_region_end(&r)) for (; !r.done; r.done = true)
/* i counts from lo while below hi; step is positive (a dynamic one that is not is a fault on
 * the CPU engine, and ends the loop on a GPU). A C `continue` leaves the rest of the body unrecorded; break is an
 * error. i is an Int32, or an Int64 if a bound has 64 bits or is an Uint32.
 *
 *     sett_for (b, i, 0, n, 1, .unroll = 4)          rounds of 4 copies of the body, then a loop over the rest
 *     sett_for (b, i, 0, 16, 2, .unroll_full = true) 8 copies, in which i is a constant
 *
 * Unrolled, the C statement behind it runs once a copy; up to 4096 of them. In full, there is no region: what is made in a
 * copy may be used after it, as with a C for. */
#define sett_for(b, i, lo, hi, ...) \
    for (sett_region i##_region = sett_for_begin(SETT_STEPPED_(#__VA_ARGS__), b, SETT_A(lo), SETT_A(hi), SETT_A(SETT_FOR_STEP(__VA_ARGS__, 0)), \
             &(sett_for_options){SETT_FOR_OPTIONS(__VA_ARGS__, .size = sizeof(sett_for_options), .name = #i)}); \
        i##_region.open; sett_region_end(&i##_region)) \
        for (sett_val *i = i##_region.iv; i && !i##_region.done; i = sett_region_next(&i##_region))
#define SETT_STEPPED_(spelled) SETT_SAYS(sizeof(spelled) > 1, "which step? sett_for (b, i, lo, hi, step): 1, say", SETT_HERE)
#define SETT_FOR_STEP(step, ...) step
#define SETT_FOR_OPTIONS(step, ...) __VA_ARGS__
/* The body again and again while cond, a Boolean scalar, which each round computes anew: what it reads must change, so it
 * reads registers or memory.
 *
 *     sett_while (b, sett_gt(sett_at(n, 0), 1))
 *         sett_set(n, sett_shr(sett_at(n, 0), 1), 0);
 *
 * One that never ends hangs a GPU; the CPU engine gives other warps of the block their turns and makes it a fault after
 * 2^31 rounds of a warp, or the time that sett_engine_options.cpu_timeout_ms gives; sett_cancel ends it before. Blocks may not wait for each other: nothing says that they run at the same time. */
#define sett_while(b, cond) SETT_WHILE(b, cond, SETT_CAT(sett_while_, SETT_UNIQUE))
#define SETT_WHILE(b, cond, r) \
    for (sett_region r = sett_while_begin(SETT_HERE, b); r.open; sett_region_end(&r)) \
        for (sett_while_test(SETT_HERE, &r, cond); !r.done; r.done = true)
/* cond: a Boolean scalar (of an integer: sett_ne(x, 0)). Both arms are always recorded. A C `continue` ends
 * only the recording of the arm that it stands in, and never leaves a loop of the kernel; the kernel's report names a
 * branch that records nothing. */
#define sett_if(b, cond) SETT_REGION(SETT_CAT(sett_if_, SETT_UNIQUE), sett_if_begin(SETT_HERE, b, cond))
#define sett_else(b) SETT_REGION(SETT_CAT(sett_else_, SETT_UNIQUE), sett_else_begin(SETT_HERE, b))

/* Indices, Int32: of the thread in its block, the block in the grid (dim 0 is x), their
 * extents; the lane in the warp; the warp in the block (x fastest). */
SETT_API sett_val *sett_thread_idx_at(sett_site, sett_build *, int dim);
SETT_API sett_val *sett_block_idx_at(sett_site, sett_build *, int dim);
SETT_API sett_val *sett_block_dim_at(sett_site, sett_build *, int dim);
SETT_API sett_val *sett_grid_dim_at(sett_site, sett_build *, int dim);
SETT_API sett_val *sett_lane_idx_at(sett_site, sett_build *);
SETT_API sett_val *sett_warp_idx_at(sett_site, sett_build *);
#define sett_thread_idx(b, dim) sett_thread_idx_at(SETT_HERE, b, dim)
#define sett_block_idx(b, dim) sett_block_idx_at(SETT_HERE, b, dim)
#define sett_block_dim(b, dim) sett_block_dim_at(SETT_HERE, b, dim)
#define sett_grid_dim(b, dim) sett_grid_dim_at(SETT_HERE, b, dim)
#define sett_lane_idx(b) sett_lane_idx_at(SETT_HERE, b)
#define sett_warp_idx(b) sett_warp_idx_at(SETT_HERE, b)

/* All threads of the block wait for each other and see each other's writes. Every
 * thread must reach it. */
SETT_API void sett_sync_threads_at(sett_site, sett_build *);
#define sett_sync_threads(b) sett_sync_threads_at(SETT_HERE, b)
/* All threads of the warp, likewise; the CPU engine reports it in a branch or loop that some of them are not in. */
SETT_API void sett_sync_warp_at(sett_site, sett_build *);
#define sett_sync_warp(b) sett_sync_warp_at(SETT_HERE, b)

#endif /* __cplusplus */
#endif
