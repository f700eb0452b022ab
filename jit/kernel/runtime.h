/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of an engine: what its kernels stand on. Kernels, and calls and functions of kernels, may outlive
 * sett_engine_close(); it lives until the last of them is gone, so that each can always ask whether it may still run. What close
 * ends is struct sett_engine (jit/compile). */
#ifndef SETT_JIT_KERNEL_RUNTIME_H
#define SETT_JIT_KERNEL_RUNTIME_H
#include "jit/cache/cache.h"
#include "jit/cuda/cuda.h"
#include "jit/sim/sim.h"

typedef struct sett__runtime {
    atomic_uint refs;        /* the engine's, each kernel's */
    atomic_uint *gate;       /* sett__gate: in a page that a fork wipes, or own_gate */
    atomic_uint own_gate;
    pid_t pid;
    sett__cuda *cuda;        /* NULL: no driver or no GPU */
    char no_cuda[256];       /* why */
    int default_device;      /* what SETT_DEFAULT_DEVICE is; device_why: what $SETT_DEVICE has to do with it */
    const char *device_why;
    pthread_mutex_t closing; /* over cache, while something goes out of it */
    sett__cache *cache;      /* the engine's: what the driver refuses goes out of it; NULL once that is closed */
    sett__logger log;
    sett__counters count;    /* between what hits do not read: each of them writes here */
    sett__allocations blocks;     /* the CPU's allocations */
    sett__stand_ins stand_ins;
    sett__runnings runnings; /* launches on the CPU */
    int cpu_threads, cpu_timeout_ms; /* as in sett_engine_options, with defaults filled in; so are these: */
    sett_print_fn print;
    sett_poll_fn cpu_poll;
    void *user;
    sett__listener finding;  /* of launches that are checked */
    bool module_api, cpu_plain, cpu_fast_mma;
    int cpu_sm;
    sett__async cpu_async;
    bool keep_made;          /* kernels from the cache keep META and material, to be compared */
} sett__runtime;

/* An open gate in a page that a fork fills with zeros, so that asking costs one load. NULL: there is none. */
atomic_uint *sett__gate_page(void);
/* Open, and of this process; NULL: no memory. */
sett__runtime *sett__runtime_make(void);
sett__runtime *sett__runtime_retain(sett__runtime *);
void sett__runtime_release(sett__runtime *);
bool sett__same_process(const sett__runtime *); /* asks the kernel */
static inline bool sett__runtime_live(const sett__runtime *r)
{
    return sett__gate_open(r->gate) ||
           (atomic_load_explicit(r->gate, memory_order_relaxed) == SETT__GATE_ASK && sett__same_process(r));
}
/* SETT_E_CLOSED, SETT_E_FORKED, or OK. The text begins with who asks: a function or a kernel. */
sett_status sett__runtime_check(const sett__runtime *, const char *who_or_null, sett_error *);
int sett__gpu_count(const sett__runtime *);
/* SETT_DEFAULT_DEVICE resolved; false and SETT_E_NO_DEVICE: there is none of this number. */
bool sett__device(const sett__runtime *, int *device, sett_error *);
bool sett__device_target(const sett__runtime *, int device, char target[16]); /* false: it cannot be told */

#endif
