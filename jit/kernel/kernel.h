/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled kernel: what a launch must know, how arguments are bound, and the kernels that an engine holds. */
#ifndef SETT_JIT_KERNEL_FACE_H
#define SETT_JIT_KERNEL_FACE_H
#include "bind.h"
#include "runtime.h"
#include <string.h>

typedef struct sett__kernels sett__kernels; /* map.c */

/* ---- kernel.c ---------------------------------------------------------------------------------------------- */
/* The part of a kernel that a hit in memory and a launch read, in one cache line. */
struct sett_kernel {
    alignas(64) sett__digest slot; /* key in the memory map; a CPU kernel's includes call sites, because its reports name them */
    const atomic_uint *gate; /* the runtime's */
    const sett__plan *plan;  /* how launches bind, check and pack */
    struct sett__rest *rest;
    atomic_uint refs;
    bool cpu, ptx_only;
    bool on_gpu;             /* there is a driver that can load it: sett__kernel_gpu */
    atomic_bool refused;     /* the driver refused its code, so that the engine's maps skip it */
};
static_assert(sizeof(struct sett_kernel) == 64, "one line");

/* The rest of a CPU kernel. */
typedef struct sett__cpu_kernel {
    sett__digest key;       /* the public key: without call sites unless line_info */
    sett__tape *tape;       /* the program and the signature in META point into it */
    sett__program *program;
    sett_checks checks;     /* that it was made for */
    sett__arena arena;      /* holds its name and its plan */
} sett__cpu_kernel;

/* The rest of a kernel. One block holds the kernel, this, the handle of its loaded code (with a driver), and its cubin, in this
 * order. */
typedef struct sett__rest {
    sett__runtime *runtime; /* counted */
    sett__meta meta;        /* of the CPU too */
    void *owned;            /* malloc'ed, of a GPU's: META's texts and arrays, the plan, the layer */
    sett__cpu_kernel *cpu;  /* NULL: a kernel of a GPU */
    sett__entry *made;      /* of a kernel that was compiled here: PTX and key material, which the cache need not give; or NULL */
    const char *layer;      /* where it is from; "" */
    char *report;           /* malloc'ed; NULL: none */
    atomic_uint_fast64_t load_ns; /* of the first prepare */
    float record_ms, codegen_ms, assemble_ms;
    uint32_t cubin_len;     /* 0: none */
    atomic_uint calls;      /* prepared calls that hold its code */
    sett_origin origin;
} sett__rest;
static inline const sett__meta *sett__meta_of(const sett_kernel *k)
{
    return &k->rest->meta;
}
static inline const char *sett__kernel_report(const sett_kernel *k)
{
    return k->rest->report ? k->rest->report : "";
}
static inline sett__gpu_kernel *sett__kernel_gpu(const sett_kernel *k) /* NULL: no driver, ptx_only, or a CPU kernel */
{
    return k->on_gpu ? (sett__gpu_kernel *)(void *)(k->rest + 1) : NULL;
}
static inline const void *sett__kernel_cubin(const sett_kernel *k)
{
    return k->rest->cubin_len ? (const char *)(k->rest + 1) + (k->rest->runtime->cuda ? SETT__GPU_KERNEL_BYTES : 0) : NULL;
}
static inline const sett__digest *sett__kernel_key(const sett_kernel *k) /* public */
{
    return k->cpu ? &k->rest->cpu->key : &k->slot;
}

/* Can the kernel run on the device? SETT_E_NO_DEVICE, SETT_E_TARGET, SETT_E_ARGUMENT: no. */
sett_status sett__kernel_device(const sett_kernel *, int device, sett_error *);
/* Takes the entry (also on failure) / the tape (also on failure). layer: where it is from; "" */
sett_status sett__kernel_of_entry(sett__runtime *, const sett__digest *key, sett__entry *, sett_origin, const char *layer,
    sett_kernel **, sett_error *);
sett_status sett__kernel_of_tape(sett__runtime *, const sett__digest *key, const sett__digest *slot, const char *name,
    sett_checks, sett__tape *, sett_kernel **, sett_error *);

/* For a load or launch that failed with this status. If the driver refused code that came from the cache, its entry is refused
 * and the engine's maps forget the kernel, once, so that the next compile makes it again. Returns the status to report. */
sett_status sett__kernel_not_loaded(sett_kernel *, sett_status, sett_error *);

/* ---- map.c: kernels by key, the memo, compiles under way ------------------------------------------------- */
/* One compile or read of one key, in flight. Other callers of that key wait for it. */
typedef struct sett__flight sett__flight;
sett_status sett__kernels_open(sett__kernels **, sett_error *);
void sett__kernels_close(sett__kernels *); /* releases all kernels of the map */
/* Gives a kernel of the slot (retained), or a flight. lead: the caller must do the work of the flight and then land it; else it
 * waits. */
typedef struct sett__found { sett_kernel *kernel; sett__flight *flight; bool lead; } sett__found;
sett_status sett__kernels_find(sett__kernels *, const sett__digest *slot, bool ptx_only, sett__found *, sett_error *);
uint64_t sett__kernels_held(sett__kernels *); /* number of kernels in the map */
sett_kernel *sett__kernels_peek(sett__kernels *, const sett__digest *key); /* by public key; retained; NULL: none */
/* refuse: lookups skip the kernel from now on, and no entry of its key is used again. False: it was refused before. */
bool sett__kernels_refuse(sett_kernel *);
bool sett__kernels_refused(sett__kernels *, const sett__digest *key);
/* Ends a flight: gives its result to all waiters, and puts the kernel, if any, into the map. If the slot got another kernel
 * meanwhile, by a read in a flight of another name, all callers get that one, and this kernel is released. Frees the flight;
 * the reference to the kernel stays the caller's. */
void sett__kernels_land(sett__kernels *, sett__flight *, sett_kernel **, sett_status, const sett_error *);
/* Waits for a flight; once for each find without lead. */
sett_status sett__kernels_wait(sett__kernels *, sett__flight *, sett_kernel **, sett_error *);
/* The request of a caller, unprocessed: options that were valid once are valid again. */
typedef struct sett__memo_head {
    uint64_t body, options, target;
} sett__memo_head;
typedef struct sett__memo_key {
    sett__memo_head head;
    const void *user;
    size_t user_size;
    uint64_t holds; /* how long the body's address stands for this body: sett__code_holds, asked before it recorded; 0 for who only looks */
} sett__memo_key;
uint64_t sett__memo_hash(const sett__memo_key *);
/* The same request; .holds is left out. */
static inline bool sett__memo_same(const sett__memo_key *a, const sett__memo_key *b)
{
    return !memcmp(&a->head, &b->head, sizeof a->head) && a->user_size == b->user_size && !memcmp(a->user, b->user, a->user_size);
}
/* What was remembered before the body's object may have been unloaded is not found. Retained; NULL: none. */
sett_kernel *sett__memo_get(sett__kernels *, const sett__memo_key *);
void sett__memo_put(sett__kernels *, const sett__memo_key *, sett_kernel *); /* may fail to remember, which is no error */

#endif
