/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow, and the indices and barriers of a block. sett_for and sett_while make loops of the kernel,
 * sett_if a branch of the kernel. A C `for` or `if` runs while the kernel is recorded: a C `for` unrolls, a C
 * `if` chooses (CuTe's constexpr).
 *
 *     sett_for (b, i, 0, n, 1) {
 *         sett_if (b, sett_lt(i, 3))
 *             sett_set(acc, i, 0);
 *         sett_else (b)
 *             sett_set(acc, 0, 0);
 *     }
 *
 * The statement behind each of them is a region. A value that is made in a region may not be used after it
 * (SETT_E_REGION): keep what must outlive a region in rmem tensors and sett_var. To leave a region by break,
 * return or goto, or to record anything between the region of a sett_if and its sett_else, is an error,
 * reported at the line of the region. */
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
    int unroll;       /* copies of the body in one round; 0, 1: one */
    bool unroll_full; /* one copy for each number, and no loop: bounds and step must be static */
    const char *name; /* of the loop's variable, in messages and reports: sett_for gives it */
} sett_for_options;
SETT_API sett_region sett_for_begin(sett_site, sett_build *, sett_arg lo, sett_arg hi, sett_arg step,
    const sett_for_options *);
/* The loop's variable for the body's next copy; NULL: there is none */
SETT_API sett_val *sett_region_next(sett_region *);
SETT_API sett_region sett_while_begin(sett_site, sett_build *);
SETT_API void sett_while_test(sett_site, sett_region *, sett_val *cond);
SETT_API sett_region sett_if_begin(sett_site, sett_build *, sett_val *cond);
SETT_API sett_region sett_else_begin(sett_site, sett_build *);
SETT_API void sett_region_end(sett_region *);
/* Two C loops. The inner one runs the body once, and sets done only when the body completes, not when it
 * breaks. */
#define SETT_REGION(r, begin) \
    for (sett_region r = begin; r.open; sett_region_end(&r)) for (; !r.done; r.done = true)
/* A loop: i counts from lo, by step, while it is below hi. step is positive. A dynamic step that is not
 * positive is a fault on the CPU engine, and ends the loop on a GPU. i is Int32, or Int64 if a bound has 64
 * bits or is Uint32. A C `continue` leaves the rest of the body unrecorded; `break` is an error.
 *
 *     sett_for (b, i, 0, n, 1, .unroll = 4)         rounds of 4 copies of the body, then a loop over the rest
 *     sett_for (b, i, 0, 16, 2, .unroll_full = true) 8 copies, in which i is a constant
 *
 * With either option the C statement runs once for each copy, at most 4096 times. With .unroll_full there is
 * no region: values of one copy may be used after it, as with a C `for`. */
#define sett_for(b, i, lo, hi, ...) \
    for (sett_region i##_region = sett_for_begin(SETT_STEPPED_(#__VA_ARGS__), b, SETT_A(lo), SETT_A(hi), \
        SETT_A(SETT_FOR_STEP(__VA_ARGS__, 0)), \
             &(sett_for_options){SETT_FOR_OPTIONS(__VA_ARGS__, .size = sizeof(sett_for_options), \
                 .name = #i)}); \
        i##_region.open; sett_region_end(&i##_region)) \
        for (sett_val *i = i##_region.iv; i && !i##_region.done; i = sett_region_next(&i##_region))
#define SETT_STEPPED_(spelled) \
    SETT_SAYS(sizeof(spelled) > 1 && !SETT_BEGINS_(spelled, "."), \
        "which step? sett_for (b, i, lo, hi, step): 1, say", SETT_HERE)
#define SETT_FOR_STEP(step, ...) step
#define SETT_FOR_OPTIONS(step, ...) __VA_ARGS__
/* A loop that runs its body while cond, a Boolean scalar, is true. Each round computes cond anew, so cond
 * must read what the body changes: registers (sett_var) or memory.
 *
 *     sett_while (b, sett_gt(sett_at(n, 0), 1))
 *         sett_set(n, sett_shr(sett_at(n, 0), 1), 0);
 *
 * A loop that never ends hangs a GPU. The CPU engine runs other warps of the block in between, and reports a
 * fault after 2^31 rounds of one warp or after sett_engine_options.cpu_timeout_ms; sett_cancel ends it
 * earlier.
 *
 * A block may wait in a loop for what another block writes, if all blocks of the grid are resident at once:
 * the loop reads memory by an atomic, or has a fence. A GPU holds as many blocks as its multiprocessors have
 * room for. The CPU engine holds 4096, or as many as need 256 MiB together, by any number of threads. */
#define sett_while(b, cond) SETT_WHILE(b, cond, SETT_CAT(sett_while_, SETT_UNIQUE))
#define SETT_WHILE(b, cond, r) \
    for (sett_region r = sett_while_begin(SETT_HERE, b); r.open; sett_region_end(&r)) \
        for (sett_while_test(SETT_HERE, &r, SETT_COND(cond)); !r.done; r.done = true)
/* A branch. cond is a Boolean scalar (of an integer x, write sett_ne(x, 0)). Both arms are always recorded. A
 * C `continue` ends the recording of its own arm, and never leaves a loop of the kernel. The kernel's report
 * names a branch that records nothing. A C `if (sett_lt(i, n))` compiles, and its arm is always recorded: the
 * report and the log name a Boolean that nothing uses. */
#define sett_if(b, cond) \
    SETT_REGION(SETT_CAT(sett_if_, SETT_UNIQUE), sett_if_begin(SETT_HERE, b, SETT_COND(cond)))
#define sett_else(b) SETT_REGION(SETT_CAT(sett_else_, SETT_UNIQUE), sett_else_begin(SETT_HERE, b))

/* Accesses that the checker (check.h) is not to call a race: a finding one of whose two accesses is in here
 * is listed with the reason, and is none. The reason is a sentence for a reader, without which nobody knows
 * whether it still holds. It is part of the sites of the tape, and of no code. What no finding needs is told
 * as a warning.
 *
 *     sett_race_ok (b, "any of the values will do")
 *         sett_set(hint, x, 0); */
#define sett_race_ok(b, why) SETT_RACE_OK(b, why, SETT_CAT(sett_race_ok_, SETT_UNIQUE))
#define SETT_RACE_OK(b, why, open) \
    for (bool open = sett_race_ok_begin(SETT_HERE, b, why); open; open = sett_race_ok_end(b))
SETT_API bool sett_race_ok_begin(sett_site, sett_build *, const char *why);
SETT_API bool sett_race_ok_end(sett_build *); /* false */
/* Indices and extents, all Int32. dim 0 is x. thread_idx: of the thread in its block; block_idx: of the block
 * in the grid; block_dim, grid_dim: their extents; lane_idx: of the thread in its warp; warp_idx: of the warp
 * in the block (x fastest). */
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

/* Waits for all threads of the block. After it each thread sees what the others wrote before it. Every thread
 * must reach it. */
SETT_API void sett_sync_threads_at(sett_site, sett_build *);
#define sett_sync_threads(b) sett_sync_threads_at(SETT_HERE, b)
/* The same for all threads of the warp. The CPU engine reports a fault if it stands in a branch or loop that
 * some of them did not enter. */
SETT_API void sett_sync_warp_at(sett_site, sett_build *);
#define sett_sync_warp(b) sett_sync_warp_at(SETT_HERE, b)

#endif /* __cplusplus */
#endif
