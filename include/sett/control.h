/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel does over time and with other threads. These emit: sett_for is a loop
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
} sett_region;
SETT_API sett_region sett_for_begin(sett_site, sett_build *, sett_arg lo, sett_arg hi, sett_arg step);
SETT_API sett_region sett_if_begin(sett_site, sett_build *, sett_val *cond);
SETT_API sett_region sett_else_begin(sett_site, sett_build *);
SETT_API void sett_region_end(sett_region *);
/* Two loops: the inner runs the body once, and only its completion, not a break, sets done. */
#define SETT_REGION(r, begin) for (sett_region r = begin; r.open; sett_region_end(&r)) for (; !r.done; r.done = true)
/* i counts from lo while below hi; step is positive (a dynamic one that is not is a fault on
 * the CPU engine, and ends the loop on a GPU). A C `continue` leaves the rest of the body unrecorded; break is an
 * error. i is an Int32, or an Int64 if a bound has 64 bits or is an Uint32. */
#define sett_for(b, i, lo, hi, step) \
    for (sett_region i##_region = sett_for_begin(SETT_HERE, b, SETT_A(lo), SETT_A(hi), SETT_A(step)); i##_region.open; \
        sett_region_end(&i##_region)) \
        for (sett_val *i = i##_region.iv; i && !i##_region.done; i##_region.done = true)
/* cond: a Boolean scalar (of an integer: sett_ne(x, 0)). Both arms are always recorded. A C `continue` ends
 * only the recording of the arm that it stands in, and never leaves a loop of the kernel; the kernel's report names a
 * branch that records nothing. */
#define sett_if(b, cond) SETT_REGION(SETT_CAT(sett_if_, SETT_UNIQUE), sett_if_begin(SETT_HERE, b, cond))
#define sett_else(b) SETT_REGION(SETT_CAT(sett_else_, SETT_UNIQUE), sett_else_begin(SETT_HERE, b))
/* Two on one line, or in one macro, do not shadow each other where the compiler counts. */
#ifdef __COUNTER__
#define SETT_UNIQUE __COUNTER__
#else
#define SETT_UNIQUE __LINE__
#endif

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
SETT_API void sett_sync_warp_at(sett_site, sett_build *);
#define sett_sync_warp(b) sett_sync_warp_at(SETT_HERE, b)

/* Prints from the kernel: each `{}` stands for one operand (integers %d, floats %f,
 * Booleans 1/0), C conversions are taken as in printf, with their widths checked. As many operands as `{}` and conversions
 * are needed; what else stands in braces is text. Static
 * numbers, tuples, layouts and scalar values may be given (of a value with a shape: its elements); a newline is added
 * if there is none, as CuTe does. The CPU engine writes through the engine's print callback, else to stdout of the
 * process that runs the kernel, as the driver does for GPUs. Up to 32 operands. */
SETT_API void sett_printf_n(sett_site, sett_build *, const char *format, int n, const sett_arg *);
#define sett_printf(b, ...) SETT_PRINTF_(b, __VA_ARGS__, 0)
#define SETT_PRINTF_(b, format, ...) \
    sett_printf_n(SETT_HERE, b, format, SETT_NARG(__VA_ARGS__) - 1, (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)})

#endif /* __cplusplus */
#endif
