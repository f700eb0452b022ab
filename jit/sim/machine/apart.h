/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: what warps and blocks of async programs have beside what all have, and the fence. */
#ifndef SETT_JIT_SIM_APART_H
#define SETT_JIT_SIM_APART_H
#include "code.h"

/* The thread sanitizer knows no fence: its builds have an atomic of this thread alone, which is one on x86 and hides no race from it. */
static inline void sett__full_fence(void)
{
#ifdef __SANITIZE_THREAD__
    int own = 0;
    __atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

typedef struct sett__apart {
    uint32_t arrived, released; /* lanes at the cluster's barrier: of this phase; of the last, before their wait */
    uint32_t registers;         /* of a thread; 0: nobody counts them */
    bool give_up;               /* its try_wait has waited long enough */
    uint64_t tried;             /* cluster->steps when it last came to where it was before */
    uint32_t groups[WARP];      /* of bulk stores that each lane has committed */
    uint32_t products, committed; /* of wgmma: begun so far; groups of them */
    uint32_t named;             /* its last arrival at a named barrier, + 1 */
    uint32_t last;              /* setmaxnreg that it executed last, + 1 */
    uint64_t together;          /* a digest of all of them, which are of a whole warp group */
} sett__apart;

/* An access to shared memory of a peer. */
typedef struct sett__touched {
    uint64_t when; /* its number in the cluster; 0: there was none */
    uint32_t op;
    int lane;
    const sett__warp *warp;
    struct sett__cta *by;
} sett__touched;

#endif
