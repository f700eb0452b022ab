/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about static layouts: which elements they reach, how wide threads may access them, and what that
 * costs in memory.
 *
 *     (thread,value) -> offset  32:32 over f32 is a column of a row-major 32 x 32 tile, one element a thread:
 *                                        4 bytes an access, 32 sectors a request, a 32-way bank conflict
 *
 * The call visits every coordinate of a static layout, so these facts are proven. Of a layout with dynamic
 * strides only the width is known, as far as divisibility proves it; the kernel's report says the same of
 * such an access. */
#ifndef SETT_COST_H
#define SETT_COST_H
#include <sett/arg.h>

#ifndef __cplusplus

typedef struct sett_cost {
    /* Every coordinate was visited. false: some strides are dynamic, and only threads, values, width,
     * width_bytes, accesses and alignment are set. */
    bool exact;
    /* Coverage of the layout's offsets; given a tensor, of the tensor's elements. */
    int64_t threads, values;  /* extents of mode 0, and of all other modes together (1: none) */
    int64_t low, high;        /* the least and the greatest offset in memory */
    int64_t elements;         /* how many the tensor has; without one, offsets from 0 (or low, if less) to
                               * high */
    int64_t reached;          /* how many of them a coordinate reaches; the others are holes */
    bool injective;           /* no two coordinates share an address */
    bool surjective;          /* no holes */

    /* Access; all 0 unless a dtype is given. */
    int width;                /* elements of the widest access, a power of two, that can move all values of
                               * all threads: adjacent, in order, aligned; at most 16 bytes */
    int width_bytes;
    int64_t accesses;         /* of one thread: its distinct values / width */
    const char *alignment;    /* what proves that width, and what prevents the next wider one */

    /* Memory. A request is one access by the 32 threads of a warp, in order of threads; the last warp may be
     * smaller. */
    int64_t requests;
    int request_bytes;        /* most bytes that a request asks for: lanes x width_bytes */
    int sectors;              /* most sectors of 32 bytes that a request touches in global memory, with
                               * element 0 at a sector's start */
    int sectors_least;        /* sectors that the distinct bytes of that request would fill */
    int64_t sectors_all;      /* sectors of all requests together */
    int bank_ways;            /* shared memory, 32 banks of 4 bytes: most distinct words that one bank serves
                               * in one pass; 1: no conflict. A pass is 32 lanes of up to 4 bytes, 16 of 8, 8
                               * of 16 */
} sett_cost;

/* sett_access_cost(tv, .tensor = a, .dtype = SETT_F16). layout maps (thread,value) to an index of the
 * tensor's elements, which lie as the tensor's layout says; without a tensor, to an offset.
 * .align: alignment of the address of offset 0 in bytes, a power of two; default 16.
 * The facts live in the build. They are never NULL, and all zero after an error. SETT_E_STATIC: a dynamic
 * extent, or a swizzle of dynamic strides. SETT_E_LIMIT: more than 2^20 coordinates. SETT_E_SHAPE: an index
 * outside the tensor, or an offset that is no number. SETT_E_DTYPE: an element whose bits are no power of
 * two. */
typedef struct sett_access_cost_args {
    size_t size;
    const sett_layout *layout, *tensor;
    sett_dtype dtype;
    int align;
} sett_access_cost_args;
SETT_API const sett_cost *sett_access_cost_at(sett_site, const sett_access_cost_args *);
#define sett_access_cost(...) \
    sett_access_cost_at(SETT_HERE, &(sett_access_cost_args){.size = sizeof(sett_access_cost_args), \
        .layout = __VA_ARGS__})

#endif /* __cplusplus */
#endif
