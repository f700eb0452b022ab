/* SPDX-License-Identifier: Apache-2.0 */
/* What many kernels of an engine have in common. */
#ifndef SETT_JIT_KERNEL_SHARED_H
#define SETT_JIT_KERNEL_SHARED_H
#include "bind.h"

/* ---- shared.c: what kernels share ---------------------------------------------------------------------------- */
/* What many kernels of an engine have in common, kept once. */
typedef struct sett__maker {
    const char *target, *assembler, *compiler, *layer; /* assembler: of the cubin; compiler: of its PTX. "" of a CPU kernel */
    const char *names; /* of parameters, then of symbols, each with its zero */
    uint64_t min_driver;
} sett__maker;
/* What kernels of equal META from one layer share: what META says but for what the assembler said of the code. Of its signature
 * there is the plan of launches, right behind; who needs a sett__sig has it made of that, once for all. */
typedef struct sett__common {
    uint8_t id[SETT__META_ID];
    uint32_t refs;            /* under the lock of the engine's commons */
    bool shared;              /* it is in their tree */
    bool early, more, claims; /* of the signature: early, smem_more, n_claim */
    uint16_t n_param, n_sym;  /* n_sym: those that arguments give */
    uint16_t params_len, block[3]; /* block: 0 what a launch says */
    bool planned;             /* else bind.c alone, and sig is there */
    uint32_t smem;
    const char *name;
    const sett__maker *by;
    _Atomic(const sett__sig *) sig; /* NULL: nobody has asked */
} sett__common;
static inline const sett__plan *sett__common_plan(const sett__common *c) /* NULL: bind.c alone */
{
    return c->planned ? (const void *)(c + 1) : NULL;
}
void sett__common_facts(sett__common *, const sett__sig *); /* what can be said without it */
size_t sett__names_put(const sett__sig *, char *to);          /* bytes; to NULL: counted alone */
/* Of any kernel; made by who asks first, and kept. NULL: SETT_E_MEMORY. */
const sett__sig *sett__sig_of(const sett_kernel *, sett_error *);
typedef struct sett__commons {
    pthread_mutex_t lock;
    void *tree, *texts, *names, *makers; /* of tsearch() */
} sett__commons;
/* Of META's bytes, of a kernel from this layer. What is each kernel's own in its meta is of whoever asked first. */
sett_status sett__common_get(sett__commons *, sett__blob meta, const char *layer, sett__common **, sett_error *);
void sett__common_drop(sett__commons *, sett__common *); /* or NULL */
const char *sett__commons_text(sett__commons *, sett__blob); /* the one copy of it, which lives as long; NULL: no memory */
void sett__commons_free(sett__commons *); /* all were dropped */

#endif
