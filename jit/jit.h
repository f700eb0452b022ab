/* SPDX-License-Identifier: Apache-2.0 */
/* The map of jit/: what its files share, grouped by the file that defines it.
 *
 * engine.c opens devices, cache and compiler; compile.c takes a body or a tape to a
 * kernel (memo, memory, disk, plug-in, assembler); bind.c checks arguments and packs them;
 * launch.c and call.c run a kernel on a GPU (cuda/) or on the CPU (sim/). */
#ifndef SETT_JIT_H
#define SETT_JIT_H
#include "../lib/lib.h"
#include <stdalign.h>

/* ---- asm/: PTX to cubin ------------------------------------------------------------- */
typedef struct sett__asm sett__asm; /* what was found: nvJitLink, ptxas, driver; safe for many threads */
typedef struct sett__asm_config {
    sett_assembler choice;        /* AUTO: nvJitLink, else ptxas, else the driver */
    const char *ptxas, *nvjitlink; /* as in sett_engine_options; NULL: looked for */
    struct sett__cuda *cuda;      /* for the driver's JIT; NULL: not there */
} sett__asm_config;
typedef struct sett__asm_job {
    const char *ptx;
    size_t ptx_len;
    const char *target;
    int opt_level;      /* 0..3, of ptxas */
    bool line_info;
    bool needs_ptxas;   /* setmaxnreg: nvJitLink drops it */
} sett__asm_job;
typedef struct sett__asm_out {
    void *cubin; /* malloc'ed */
    size_t cubin_len;
    char *log;   /* malloc'ed, NUL-ended, never NULL on success */
    int registers, spill_stores, spill_loads, stack, smem; /* -1 unknown */
    bool serialized;      /* a C75xx "wgmma serialized" warning */
    char identity[64];    /* "nvJitLink 13.0", "ptxas 13.0.88", "driver-jit 13000" */
    double ms;
} sett__asm_out;
/* Nothing is searched for before the first use. */
sett_status sett__asm_open(sett__asm **, const sett__asm_config *, sett_error *);
void sett__asm_close(sett__asm *);
sett_status sett__assemble(sett__asm *, const sett__asm_job *, sett__asm_out *, sett_error *);
void sett__asm_out_free(sett__asm_out *);
/* Loads or finds what assemble would use, so that the first kernel need not wait. */
void sett__asm_warm(sett__asm *);
/* One `name: value` line for each assembler: found where, version, or why not. snprintf-like. */
int sett__asm_describe(sett__asm *, char *buf, size_t size);
/* The parser of assembler logs, for tests: fills registers to serialized. */
void sett__asm_parse_log(const char *log, sett__asm_out *);

/* ---- cuda/: the driver ------------------------------------------------------------------ */
typedef struct sett__cuda sett__cuda;
typedef struct sett__gpu_kernel sett__gpu_kernel; /* loaded code: a CUlibrary and CUkernel, or CUmodules per context */
typedef struct sett__launch_dims {
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1,1,1: none */
    uint32_t smem; /* dynamic bytes */
} sett__launch_dims;
/* SETT_E_NO_DEVICE when there is no libcuda.so.1 or no GPU; the text says which. */
sett_status sett__cuda_open(sett__cuda **, sett_error *);
void sett__cuda_close(sett__cuda *);
int sett__cuda_count(const sett__cuda *);
sett_status sett__cuda_target(sett__cuda *, int device, char target[16], sett_error *); /* "sm_90a" */
int sett__cuda_driver_version(const sett__cuda *); /* 13000 */
int sett__cuda_describe(sett__cuda *, char *buf, size_t size);
void *sett__cuda_alloc(sett__cuda *, int device, size_t);
void sett__cuda_free(sett__cuda *, int device, void *);
sett_status sett__cuda_memcpy(sett__cuda *, sett_stream, void *dst, const void *src, size_t, sett_error *);
sett_status sett__cuda_sync(sett__cuda *, sett_stream, sett_error *);
/* PTX to cubin by cuLink; *cubin is malloc'ed. */
sett_status sett__cuda_link(sett__cuda *, const char *ptx, size_t len, int opt_level, void **cubin, size_t *cubin_len, char **log, sett_error *);
/* symbol: the kernel's name in the cubin. Nothing is loaded until prepare or launch; the cubin's bytes must
 * live as long as the handle. */
sett_status sett__gpu_kernel_make(sett__cuda *, const void *cubin, size_t len, const char *symbol, uint32_t smem, bool module_api, sett__gpu_kernel **, sett_error *);
void sett__gpu_kernel_free(sett__gpu_kernel *); /* unloads nothing while the process may still use it: see cache-and-runtime rules */
/* Loads code and sets attributes for a device, in the caller's current context (else the primary one). */
sett_status sett__gpu_prepare(sett__gpu_kernel *, int device, sett_error *);
bool sett__gpu_prepared(const sett__gpu_kernel *, int device);
/* cuLaunchKernelEx with a packed parameter block. A kernel not prepared on a stream under capture:
 * SETT_E_CAPTURING. The caller's current context is left as found. */
sett_status sett__gpu_launch(sett__gpu_kernel *, sett_stream, const sett__launch_dims *, void *params, size_t params_len, sett_error *);
/* The same with everything known: handle from gpu_function after prepare; nothing else is looked at. */
void *sett__gpu_function(sett__gpu_kernel *, int device);
sett_status sett__gpu_run(sett__cuda *, void *function, int device, void *stream, const sett__launch_dims *, void *params, size_t params_len);

/* ---- sim/: the CPU engine --------------------------------------------------------------------- */
typedef struct sett__program sett__program; /* a tape decoded for the interpreter; immutable */
typedef struct sett__extent {
    const void *data; /* lowest address that the argument may touch */
    size_t bytes;
} sett__extent;
typedef struct sett__sim_launch {
    uint32_t grid[3], block[3];
    const void *params; /* the packed block */
    size_t params_len;
    const sett__extent *extent; /* one a sig.param (scalars: {0,0}) */
    int threads;        /* OS threads at most */
    int check_level;
    const char *name;   /* of the kernel, for reports */
    sett_print_fn print; /* NULL: stdout */
    void *user;
} sett__sim_launch;
/* The program keeps a pointer to the tape, which must outlive it. */
sett_status sett__program_make(const sett__tape *, sett__program **, sett_error *);
void sett__program_free(sett__program *);
/* Runs the whole grid before it returns. SETT_E_FAULT with a report that names the kernel's C line. */
sett_status sett__sim_run(const sett__program *, const sett__sim_launch *, sett_error *);

/* ---- cache/: entries on disk -------------------------------------------------------------------- */
typedef struct sett__digest { uint8_t b[32]; } sett__digest;
void sett__sha256(const void *, size_t, sett__digest *);
typedef struct sett__blob { const void *data; size_t len; } sett__blob;
/* What one entry holds; see cache-and-runtime section 3.2. */
typedef struct sett__entry {
    sett__blob key_material, meta, cubin, ptx, notes; /* ptx and notes may be empty */
    void *owned; /* the file's bytes, when read; free with sett__entry_free */
} sett__entry;
/* Canonical TLV of the key (cache-and-runtime 3.1). IR as its SHA-256. */
typedef struct sett__key_parts {
    sett__blob tape;           /* canonical bytes */
    const char *target;        /* full suffix */
    int ptx_isa;               /* e.g. 80 */
    int opt_level;
    bool line_info;
} sett__key_parts;
sett_status sett__key_encode(const sett__key_parts *, void **material, size_t *len, sett__digest *key, sett_error *);
typedef struct sett__disk sett__disk; /* one writable folder; safe for many threads */
typedef struct sett__disk_stats { uint64_t hits, misses, heals, refusals, writes; } sett__disk_stats;
/* root: absolute path, made if missing (0700). Unwritable or untrusted: SETT_E_IO with the reason; the engine goes
 * on in memory. */
sett_status sett__disk_open(sett__disk **, const char *root, sett_error *);
void sett__disk_close(sett__disk *);
/* SETT_E_NOT_CACHED on a miss and on any damaged or foreign entry (which is moved to quarantine and counted);
 * material NULL: by key alone. */
sett_status sett__disk_get(sett__disk *, const sett__digest *key, const sett__blob *material, sett__entry *, sett_error *);
/* temp, fdatasync, rename. Any failure is a status and a counter, never fatal. */
sett_status sett__disk_put(sett__disk *, const sett__digest *key, const sett__entry *, sett_error *);
void sett__disk_stats_get(const sett__disk *, sett__disk_stats *);
void sett__entry_free(sett__entry *);
/* Pure functions, fuzzed and tested alone: whole file to entry, and back. */
sett_status sett__entry_decode(const void *file, size_t len, const sett__digest *key, sett__entry *, sett_error *);
sett_status sett__entry_encode(const sett__digest *key, const sett__entry *, void **file, size_t *len, sett_error *);
/* cache_dir as in sett_engine_options to an absolute path; false: memory only. */
bool sett__cache_root(const char *cache_dir, char *path, size_t size);

/* ---- meta.c: what a launch must know, beside the code ---------------------------------------------- */
typedef struct sett__meta {
    sett__sig sig;
    const char *name, *target, *assembler;
    int min_driver, registers, spill_stores, spill_loads, stack;
    uint16_t ptx_isa;
    uint32_t params_len;
} sett__meta;
sett_status sett__meta_write(const sett__meta *, void **bytes, size_t *len, sett_error *);
sett_status sett__meta_read(sett__meta *, sett__arena *, const void *bytes, size_t len, sett_error *);

/* ---- bind.c: arguments to symbols, checks, packed block and dims ---------------------------------------- */
#define SETT__PARAMS_MAX 4096
typedef struct sett__bound {
    sett__launch_dims dims;
    bool empty; /* a zero grid: nothing to launch */
    uint32_t params_len;
    alignas(16) unsigned char params[SETT__PARAMS_MAX];
} sett__bound;
/* extents: NULL, or one a param for the CPU engine. name: the kernel's, for messages. */
sett_status sett__bind(const sett__sig *, const char *name, int n, const sett_bind *, bool gpu, sett__bound *, sett__extent *extents, sett_error *);

#endif
