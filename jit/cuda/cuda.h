/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver, opened at run time: devices, memory, loaded code, launches. */
#ifndef SETT_JIT_CUDA_FACE_H
#define SETT_JIT_CUDA_FACE_H
#include "jit/support/support.h"

/* ---- cuda/: the driver ------------------------------------------------------------------ */
typedef struct sett__cuda sett__cuda;
typedef struct sett__gpu_kernel sett__gpu_kernel; /* loaded code: a CUlibrary and CUkernel, or CUmodules per context */
typedef struct sett__launch_dims {
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1,1,1: none */
    uint32_t smem; /* of the block's window, where it is not in the code: sett__smem_static */
} sett__launch_dims;
/* SETT_E_NO_DEVICE when there is no libcuda.so.1 or no GPU; the text says which. Of the engine, which outlives it. */
sett_status sett__cuda_open(sett__cuda **, const atomic_uint *gate, sett__logger *, sett_error *);
void sett__cuda_close(sett__cuda *);
int sett__cuda_count(const sett__cuda *);
sett_status sett__cuda_target(sett__cuda *, int device, char target[16], sett_error *); /* "sm_90a" */
int sett__cuda_driver_version(const sett__cuda *); /* 13000 */
bool sett__cuda_faulted(const sett__cuda *); /* what only the end of the process mends */
sett_status sett__cuda_counts(const sett__cuda *, int device, sett_device_counts *); /* adds them; SETT_E_NO_DEVICE */
int sett__cuda_describe(sett__cuda *, char *buf, size_t size);
void *sett__cuda_alloc(sett__cuda *, int device, size_t);
void sett__cuda_free(sett__cuda *, int device, void *);
sett_status sett__cuda_memcpy(sett__cuda *, sett_stream, void *dst, const void *src, size_t, sett_error *);
sett_status sett__cuda_sync(sett__cuda *, sett_stream, sett_error *);
/* What is assembled; by cuLink here, in asm/ by others. */
typedef struct sett__asm_job {
    const char *ptx;
    size_t ptx_len;
    const char *target;
    int opt_level;      /* 0..3, of ptxas */
    bool line_info;
    bool needs_ptxas;   /* setmaxnreg: nvJitLink drops it */
} sett__asm_job;
/* PTX to cubin by cuLink, for the job's target, whatever the devices here are; *cubin and *log are malloc'ed. The log is
 * empty when the driver's own cache ($CUDA_CACHE_PATH) had it. */
sett_status sett__cuda_link(sett__cuda *, const sett__asm_job *, void **cubin, size_t *cubin_len, char **log, sett_error *);
/* In memory of the caller's. symbol: the kernel's name in the cubin. Nothing is loaded until prepare or launch; symbol and the
 * cubin's bytes must live as long as the handle. */
enum { SETT__GPU_KERNEL_BYTES = 72 };
sett_status sett__gpu_kernel_make(sett__cuda *, const void *cubin, size_t len, const char *symbol, uint32_t smem,
    bool module_api, sett__gpu_kernel *, sett_error *);
/* Of a kernel with assertions: the signature lives as long as the handle. What fails is found by sett__cuda_failed, also
 * after the handle is gone. */
sett_status sett__gpu_claims(sett__gpu_kernel *, const sett__sig *, sett_error *);
void sett__gpu_early(sett__gpu_kernel *); /* it waits for the grids before it by itself, and may begin before they end */
void sett__gpu_more_smem(sett__gpu_kernel *); /* launches may add to its shared memory; before it is prepared */
sett_status sett__gpu_fits(const sett__gpu_kernel *, int device, const sett__launch_dims *, sett_error *); /* does that? */
/* The end of a packed block, if the kernel has assertions: where it writes what failed. After prepare. */
void sett__gpu_address(const sett__gpu_kernel *, int device, void *params, size_t params_len);
/* SETT_E_FAULT with the report of an assertion that failed on the device, once; waits for nothing. */
sett_status sett__cuda_failed(sett__cuda *, int device, sett_error *);
/* Unloads nothing while the process may still use it. */
void sett__gpu_kernel_end(sett__gpu_kernel *);
/* Loads code and sets attributes for a device, in the caller's current context (else the primary one). */
sett_status sett__gpu_prepare(sett__gpu_kernel *, int device, sett_error *);
bool sett__gpu_prepared(const sett__gpu_kernel *, int device);
bool sett__gpu_refused(sett__gpu_kernel *); /* the last try to load it failed for its bytes; told once */
/* From every device and context; whoever calls knows that nothing runs or holds it. */
sett_status sett__gpu_unload(sett__gpu_kernel *, sett_error *);
/* cuLaunchKernelEx with a packed parameter block. A kernel not prepared on a stream under capture:
 * SETT_E_CAPTURING. The caller's current context is left as found. */
sett_status sett__gpu_launch(sett__gpu_kernel *, sett_stream, const sett__launch_dims *, void *params, size_t params_len, sett_error *);
void *sett__gpu_function(sett__gpu_kernel *, int device); /* to launch there, after prepare; NULL: not loaded */
/* The way of most launches by sett_launch, in two steps: what to launch there, if all of it is loaded; and go. */
void *sett__gpu_ready(const sett__gpu_kernel *, int device);
sett_status sett__gpu_go(const sett__gpu_kernel *, void *function, sett_stream, const sett__launch_dims *, void *params, size_t params_len,
    sett_error *);
/* A launch of which all but the stream and the packed block is known, in one cache line: what the driver leaves of ours in
 * the caches is little, and each line is another wait for memory. */
struct sett__cu_config;
typedef struct sett__shot {
    sett__cuda *cuda;
    int (*launch)(const struct sett__cu_config *, void *, void **, void **);
    void *function;
    uint32_t dims[7];        /* grid, block, shared memory to be asked for: as a sett__cu_config begins */
    uint16_t params_len;
    int8_t device;
    uint8_t state;           /* SETT__SHOT_*; 0: the shot is none yet */
    const atomic_uint *gate; /* the engine's; whoever has the shot sets it */
    uint8_t cluster[3];      /* behind the line: of CLUSTERED alone */
} sett__shot;
enum { SETT__SHOT_LOADED = 1, SETT__SHOT_CLUSTERED = 2, SETT__SHOT_EARLY = 4 };
static_assert(offsetof(sett__shot, cluster) == 64, "one line");
void sett__gpu_load(sett__shot *, const sett__gpu_kernel *, void *function, int device, const sett__launch_dims *, size_t params_len);
/* errno is left as found. */
sett_status sett__gpu_shoot(const sett__shot *, void *stream, void *params);

/* cuda/clock.c: microseconds of each iteration by events. once issues an iteration's work on the stream that it is given; graph:
 * it is called once, captured, and replayed on a stream of its own. Nothing is in flight when it returns. */
typedef struct sett__timing {
    bool graph;
    int warmup, iterations;
    sett_status (*once)(void *user, sett_stream, sett_error *);
    void *user;
} sett__timing;
sett_status sett__cuda_time(sett__cuda *, sett_stream, const sett__timing *, double *us, sett_error *);
uint64_t sett__cuda_cache(const sett__cuda *, int device); /* bytes of its L2; 0: not known */
const char *sett__cuda_name(const sett__cuda *, int device); /* of a device that is there */

#endif
