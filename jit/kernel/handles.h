/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels' handles. */
#ifndef SETT_JIT_KERNEL_HANDLES_H
#define SETT_JIT_KERNEL_HANDLES_H
#include "jit/support/support.h"

/* ---- handles.c: kernels' handles, side by side ---------------------------------------------------------------- */
/* So that one word names a kernel, and a million of them lie in few pages. None moves; a chunk has as many places as all
 * before. Where in a chunk a handle lies, its digest says: whoever looks for a digest can ask for the lines where its handle
 * likely is before it knows. NEAR: places of a chunk, side by side, that are likely; AHEAD: chunks, the newest. */
enum { SETT__HEADS_FIRST = 64, SETT__HEAD_BITS = 26, SETT__HEAD_CHUNKS = SETT__HEAD_BITS - 5, SETT__HEADS_NEAR = 2, SETT__HEADS_AHEAD = 4 };
typedef struct sett__heads {
    pthread_mutex_t lock;
    atomic_uint chunks;
    sett_kernel *chunk[SETT__HEAD_CHUNKS]; /* those are set before they are counted */
    uint32_t used[SETT__HEAD_CHUNKS];
} sett__heads;
/* Zeros but for the gate, which is NULL in places that are free; NULL: no memory. */
sett_kernel *sett__head_take(sett__heads *, const sett__digest *, const atomic_uint *gate);
void sett__head_give(sett__heads *, sett_kernel *);
uint32_t sett__head_index(sett__heads *, const sett_kernel *);
static inline sett_kernel *sett__head_at(const sett__heads *, uint32_t i);
static inline void sett__heads_expect(const sett__heads *, const sett__digest *); /* brings those lines nearer */
void sett__heads_free(sett__heads *); /* none is in use */

#endif
