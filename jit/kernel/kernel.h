/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled kernel: what a launch must know, how arguments are bound, and the kernels that an engine holds. */
#ifndef SETT_JIT_KERNEL_FACE_H
#define SETT_JIT_KERNEL_FACE_H
#include "shared.h"

typedef struct sett__asm sett__asm; /* jit/asm */

/* ---- engine.c: the engine; kernels keep it alive -------------------------------------------------------- */
typedef struct sett__workers sett__workers; /* threads.c */
typedef struct sett__kernels sett__kernels; /* map.c */
struct sett_engine {
    atomic_uint refs;                  /* the user's, each kernel's, each call's that is under way */
    atomic_bool closed, sealed;
    atomic_uint *gate;                 /* sett__gate: in a page that a fork wipes, or own_gate */
    atomic_uint own_gate;
    pid_t pid;
    sett_engine_options opt;           /* its strings are owned */
    sett__cuda *cuda;                  /* NULL: no driver or no GPU; lives until the last kernel is gone */
    sett__asm *assembler;
    sett__cache *cache;                /* NULL once closed */
    sett__workers *workers;            /* plug-in and compiling threads; NULL once closed */
    sett__commons commons;
    sett__kernels *kernels;            /* memory map, memo, compiles under way; NULL once closed */
    sett__logger log;
    sett__blocks blocks;
    sett__stand_ins stand_ins;
    sett__runnings runnings;
    _Atomic(sett_build *) idle_build;  /* memory to record the next body in, or NULL */
    sett_asserts asserts;              /* as $SETT_ASSERTS said; DEFAULT: nothing */
    unsigned dump;                     /* sett__dump_kind's that are wanted */
    char dump_to[3800];                /* a folder */
    sett__counters count;              /* between what hits do not read: each of them writes here */
    const char *provoke;               /* tests: handed to the plug-in */
    char no_cuda[256];                 /* why */
    sett__stripe stripe[1 << SETT__STRIPE_BITS];
};
/* The calling thread's. Threads' ids lie at equal distances, which the golden ratio spreads: stacks of 8 MiB and a
 * page for most. */
static inline sett__stripe *sett__stripe_of(sett_engine *e)
{
    return &e->stripe[((uint64_t)(uintptr_t)pthread_self() >> 12) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - SETT__STRIPE_BITS)];
}
static inline sett__logger *sett__logger_of(const sett_engine *e)
{
    return (sett__logger *)(uintptr_t)&e->log;
}
#define sett__log(e, ...) sett__say(sett__logger_of(e), __VA_ARGS__) /* for who has an engine, also a const one */

bool sett__same_process(const sett_engine *); /* asks the kernel */
static inline bool sett__engine_live(const sett_engine *e)
{
    return sett__gate_open(e->gate) ||
           (atomic_load_explicit(e->gate, memory_order_relaxed) == SETT__GATE_ASK && sett__same_process(e));
}
/* SETT_E_CLOSED, SETT_E_FORKED, or OK. */
sett_status sett__engine_check(const sett_engine *, sett_error *);
enum { SETT__GATE_PAGE = 4096 };
void sett__free_strings(sett_engine_options *); /* which the engine owns */
sett_engine *sett__engine_retain(sett_engine *);
void sett__engine_release(sett_engine *);
/* SETT_DEFAULT_DEVICE resolved; false and SETT_E_NO_DEVICE: there is none of this number. */
bool sett__device(const sett_engine *, int *device, sett_error *);

/* ---- kernel.c ---------------------------------------------------------------------------------------------- */
/* What a hit in memory and a launch read of a kernel: one line. */
struct sett_kernel {
    alignas(64) sett__digest slot; /* in the memory map: of a CPU kernel with call sites, which its reports name */
    const atomic_uint *gate; /* the engine's */
    const sett__plan *plan;  /* of a GPU's launches; NULL: bind.c alone */
    struct sett__rest *rest;
    atomic_uint refs;
    bool cpu, ptx_only;
    bool on_gpu;             /* there is a driver to load it: sett__kernel_gpu */
    atomic_bool refused;     /* the driver would not load its code: the engine's maps pass it over */
};
static_assert(sizeof(struct sett_kernel) == 64, "one line");

/* What a kernel of the CPU has beside. */
typedef struct sett__cpu_kernel {
    sett__digest key;       /* public: without call sites unless line_info */
    sett__tape *tape;       /* program points into it */
    sett__program *program;
    char *report;           /* malloc'ed; NULL: none */
    sett__arena arena;      /* of its name */
    sett__common common;    /* of its tape: not shared, nor what is `by` */
    sett__maker by;
} sett__cpu_kernel;

/* The rest of a kernel, in one block with it, what loads it on a GPU and its cubin behind. */
typedef struct sett__rest {
    sett_engine *engine;    /* counted */
    sett__common *common;
    sett__cpu_kernel *cpu;  /* NULL: a GPU's */
    sett__entry *made;      /* of who compiled it: PTX and key material, which no cache has to give; or NULL */
    const char *report;
    atomic_uint_fast64_t load_ns; /* of the first prepare */
    float record_ms, codegen_ms, assemble_ms;
    uint32_t cubin_len;     /* 0: none */
    sett__said said;
    atomic_uint calls;      /* prepared ones that hold its code */
    sett_origin origin;
} sett__rest;
static inline const sett__common *sett__common_of(const sett_kernel *k)
{
    return k->rest->common;
}
static inline sett__gpu_kernel *sett__kernel_gpu(const sett_kernel *k) /* NULL: no driver, ptx_only, or a CPU's */
{
    return k->on_gpu ? (sett__gpu_kernel *)(void *)(k->rest + 1) : NULL;
}
static inline const void *sett__kernel_cubin(const sett_kernel *k)
{
    return k->rest->cubin_len ? (const char *)(k->rest + 1) + (k->rest->engine->cuda ? SETT__GPU_KERNEL_BYTES : 0) : NULL;
}
static inline const sett__digest *sett__kernel_key(const sett_kernel *k) /* public */
{
    return k->cpu ? &k->rest->cpu->key : &k->slot;
}

/* A device that this kernel can run on: SETT_OK; else SETT_E_NO_DEVICE, SETT_E_TARGET, SETT_E_ARGUMENT. */
sett_status sett__kernel_device(const sett_kernel *, int device, sett_error *);
/* Takes the entry (also on failure) / the tape (also on failure). layer: where it is from; "" */
sett_status sett__kernel_of_entry(sett_engine *, const sett__digest *key, sett__entry *, sett_origin, const char *layer,
    sett_kernel **, sett_error *);
sett_status sett__kernel_of_tape(sett_engine *, const sett__digest *key, const sett__digest *slot, const char *name,
    sett__tape *, sett_kernel **, sett_error *);

/* What a failed try to load it, or to launch it, gave. Where the driver will not have the code and it is the cache's: the
 * entry goes, and the engine's maps forget the kernel, once; so the next compile makes it anew. */
sett_status sett__kernel_not_loaded(sett_kernel *, sett_status, sett_error *);

/* ---- map.c: kernels by key, the memo, compiles under way ------------------------------------------------- */
/* One compile of one key; whoever asks for it meanwhile waits for it. */
typedef struct sett__flight sett__flight;
sett_status sett__kernels_open(sett__kernels **, sett_error *);
void sett__kernels_close(sett__kernels *); /* releases every kernel that it holds */
/* A kernel of the slot (retained), or a flight: *lead is set if the caller must fly it and then land it. */
typedef struct sett__found { sett_kernel *kernel; sett__flight *flight; bool lead; } sett__found;
sett_status sett__kernels_find(sett__kernels *, const sett__digest *slot, bool ptx_only, sett__found *, sett_error *);
uint64_t sett__kernels_held(sett__kernels *); /* how many the map has */
sett_kernel *sett__kernels_peek(sett__kernels *, const sett__digest *key); /* by public key; retained; or NULL */
/* The maps pass it over from now on, and no entry of its key is used again. False: that is so already. */
bool sett__kernels_refuse(sett_kernel *);
bool sett__kernels_refused(sett__kernels *, const sett__digest *key);
/* For all waiters, and puts the kernel in the map, if there is one. Where its slot has another, which was read and made by
 * flights of different names, all get that one, and this is released. Takes the flight, not the reference to the kernel. */
void sett__kernels_land(sett__kernels *, sett__flight *, sett_kernel **, sett_status, const sett_error *);
/* Once for each find without lead. */
sett_status sett__kernels_wait(sett__kernels *, sett__flight *, sett_kernel **, sett_error *);
/* What a caller asked with, as it asked: options that were accepted once are accepted again. */
typedef struct sett__memo_head {
    uint64_t body, options, target;
} sett__memo_head;
typedef struct sett__memo_key {
    sett__memo_head head;
    const void *user;
    size_t user_size;
} sett__memo_key;
uint64_t sett__memo_hash(const sett__memo_key *);
sett_kernel *sett__memo_get(sett__kernels *, const sett__memo_key *);             /* retained; or NULL */
void sett__memo_put(sett__kernels *, const sett__memo_key *, sett_kernel *); /* failure to remember is no error */

#endif
