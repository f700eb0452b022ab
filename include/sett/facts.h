/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about static layouts: what is reached, how wide threads may access it, and what that costs in memory.
 *
 *     (thread,value) -> offset           32:32 over f32 is a column of a row-major 32 x 32 tile, one element a thread:
 *                                        4 bytes an access, 32 sectors a request, a 32-way bank conflict
 *
 * Of a static layout every coordinate is looked at, so what is said is proven. Strides that are known only at run time leave
 * the width, as far as their divisibility proves it; it is what the kernel's report says of such an access. */
#ifndef SETT_FACTS_H
#define SETT_FACTS_H
#include <sett/arg.h>

#ifndef __cplusplus

typedef struct sett_facts {
    bool exact;               /* every coordinate was looked at; false: some strides are dynamic, and all but threads,
                               * values, width, width_bytes, accesses and alignment is 0 */
    /* Coverage. Of the layout's offsets; given a tensor, of the tensor's elements. */
    int64_t threads, values;  /* extents of mode 0, and of the other modes together (1 where there are none) */
    int64_t low, high;        /* the least and the greatest offset in memory */
    int64_t elements;         /* of the tensor; without one the offsets from 0 (or low, if less) to high */
    int64_t reached;          /* different ones of them that a coordinate reaches; elements - reached are holes */
    bool injective;           /* no two coordinates share a place in memory */
    bool surjective;          /* no hole */

    /* Access, if a dtype is given; else all 0. */
    int width;                /* elements of the widest access, a power of two, that all values of all threads can be
                               * moved with: adjacent, in order, aligned; at most 16 bytes */
    int width_bytes;
    int64_t accesses;         /* of one thread: its different values / width */
    const char *alignment;    /* the proof of that width, and what breaks the next wider one */

    /* Memory: a request is one access by the 32 threads of a warp, in order of thread; the last warp may be smaller. */
    int64_t requests;
    int request_bytes;        /* most that one asks for: lanes x width_bytes */
    int sectors;              /* most sectors of 32 bytes that one touches in global memory, element 0 at a sector's start */
    int sectors_least;        /* that the same request's different bytes would fill */
    int64_t sectors_all;      /* of all requests together */
    int bank_ways;            /* in shared memory, 32 banks of 4 bytes: most different words that one bank serves in one
                               * pass; 1 is free of conflicts. A pass is 32 lanes of up to 4 bytes, 16 of 8, 8 of 16 */
} sett_facts;

/* sett_layout_facts(tv, .tensor = a, .dtype = SETT_F16): of a layout (thread,value) -> index of the tensor's elements,
 * which lie as the tensor's layout says; without a tensor of (thread,value) -> offset itself.
 * .align: bytes that the address of offset 0 is a multiple of, a power of two; default 16.
 * The facts live in the build; never NULL: all zero after an error. SETT_E_STATIC for a dynamic extent or a swizzle of
 * dynamic strides, SETT_E_LIMIT past 2^20 coordinates, SETT_E_SHAPE where an index is outside the tensor or an offset is no number, SETT_E_DTYPE for an
 * element of other than a power of two bits. */
typedef struct sett_facts_args {
    size_t size;
    const sett_layout *layout, *tensor;
    sett_dtype dtype;
    int align;
} sett_facts_args;
SETT_API const sett_facts *sett_layout_facts_at(sett_site, const sett_facts_args *);
#define sett_layout_facts(...) \
    sett_layout_facts_at(SETT_HERE, &(sett_facts_args){.size = sizeof(sett_facts_args), .layout = __VA_ARGS__})

#endif /* __cplusplus */
#endif
