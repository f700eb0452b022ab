/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver, opened at run time: devices, memory, loaded code, launches. */
#ifndef SETT_JIT_CUDA_FACE_H
#define SETT_JIT_CUDA_FACE_H
#include "jit/support/support.h"

/* ---- cuda/: the driver ------------------------------------------------------------------ */
typedef struct sett__cuda sett__cuda;
typedef struct sett__gpu_kernel sett__gpu_kernel; /* loaded code: a CUlibrary and CUkernel, or CUmodules, one for each context */
typedef struct sett__launch_dims {
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1,1,1: none */
    uint32_t smem; /* bytes of the block's window, unless it is static in the code (sett__smem_static) */
} sett__launch_dims;
/* Opens the driver. SETT_E_NO_DEVICE: there is no libcuda.so.1, or no GPU; the text says which. gate and logger are the
 * engine's, which outlives the driver. */
sett_status sett__cuda_open(sett__cuda **, const atomic_uint *gate, sett__logger *, sett_error *);
void sett__cuda_close(sett__cuda *);
int sett__cuda_count(const sett__cuda *);
sett_status sett__cuda_unforked(const sett__cuda *, sett_error *); /* SETT_E_FORKED */
sett_status sett__cuda_target(sett__cuda *, int device, char target[16], sett_error *); /* "sm_90a" */
/* Code and who made it. The kernel's name is also its symbol. */
typedef struct sett__made {
    const char *name, *target, *assembler;
    int min_driver; /* 12080: the assembler's; 0: any */
} sett__made;
/* Can the device run it? SETT_E_DRIVER, SETT_E_TARGET: no. */
sett_status sett__cuda_takes(sett__cuda *, int device, const sett__made *, sett_error *);
int sett__cuda_driver_version(const sett__cuda *); /* 13000 */
bool sett__cuda_faulted(const sett__cuda *); /* has it reported a fault that only the end of the process mends? */
sett_status sett__cuda_counts(const sett__cuda *, int device, sett_device_counts *); /* adds to the counts; SETT_E_NO_DEVICE */
void sett__cuda_describe(sett__cuda *, sett__sink *);
void *sett__cuda_alloc(sett__cuda *, int device, size_t);
void sett__cuda_free(sett__cuda *, int device, void *);
sett_status sett__cuda_memcpy(sett__cuda *, sett_stream, void *dst, const void *src, size_t, sett_error *);
sett_status sett__cuda_sync(sett__cuda *, sett_stream, sett_error *);
/* A job for an assembler: cuLink here, the others in asm/. */
typedef struct sett__asm_job {
    const char *ptx;
    size_t ptx_len;
    const char *target;
    int opt_level;      /* 0..3, as ptxas */
    bool line_info;
    bool sets_registers; /* it uses setmaxnreg, which ptxas alone keeps */
} sett__asm_job;
/* Assembles PTX by cuLink for the job's target, whatever devices are here. *cubin and *log are malloc'ed. The log is empty if
 * the driver's own cache ($CUDA_CACHE_PATH) had the cubin. */
sett_status sett__cuda_link(sett__cuda *, const sett__asm_job *, void **cubin, size_t *cubin_len, char **log, sett_error *);
/* Makes a handle in the caller's memory; symbol is the kernel's name in the cubin. Loads nothing before prepare or launch.
 * symbol and the cubin's bytes must live as long as the handle. */
enum { SETT__GPU_KERNEL_BYTES = 72 };
sett_status sett__gpu_kernel_make(sett__cuda *, const void *cubin, size_t len, const char *symbol, uint32_t smem,
    bool module_api, sett__gpu_kernel *, sett_error *);
/* For a kernel with assertions; the signature lives as long as the handle. sett__cuda_failed finds failures, even after the
 * handle has ended. */
sett_status sett__gpu_claims(sett__gpu_kernel *, const sett__sig *, sett_error *);
void sett__gpu_early(sett__gpu_kernel *); /* the kernel itself waits for the grids before it, and may begin before they end */
/* Its blocks run all at once; clusters of more than 8 are taken. Call it before prepare. */
void sett__gpu_launched(sett__gpu_kernel *, bool cooperative, bool big_cluster);
void sett__gpu_more_smem(sett__gpu_kernel *); /* launches may add to its shared memory; call it before prepare */
/* All of these, as the signature asks for them. What it is given lives as long as the handle. */
sett_status sett__gpu_kernel_of(sett__cuda *, const void *cubin, size_t len, const sett__made *, const sett__sig *, bool module_api,
    sett__gpu_kernel *, sett_error *);
/* SETT_E_FAULT with the report of an assertion that failed on the device, once; waits for nothing. */
sett_status sett__cuda_failed(sett__cuda *, int device, sett_error *);
/* Ends the handle, but unloads nothing: the process may still use the code. */
void sett__gpu_kernel_end(sett__gpu_kernel *);
/* Loads the code and sets attributes for a device, in the caller's current context, else in the primary one. */
sett_status sett__gpu_prepare(sett__gpu_kernel *, int device, sett_error *);
bool sett__gpu_prepared(const sett__gpu_kernel *, int device);
bool sett__gpu_refused(sett__gpu_kernel *); /* did the driver refuse its bytes at the last load? True once */
/* Unloads the code from every device and context. The caller promises that nothing runs or holds it. */
sett_status sett__gpu_unload(sett__gpu_kernel *, sett_error *);
void *sett__gpu_function(sett__gpu_kernel *, int device); /* handle to launch on the device, after prepare; NULL: not loaded */
/* A launch of which all but the stream and the packed block is known, in one cache line: what the driver leaves of ours in
 * the caches is little, and each line is another wait for memory. */
struct sett__cu_config;
typedef struct sett__shot {
    sett__cuda *cuda;
    int (*launch)(const struct sett__cu_config *, void *, void **, void **);
    void *function;
    uint32_t dims[7];        /* grid, block, shared memory, as a sett__cu_config begins */
    uint16_t params_len;
    int8_t device;
    uint8_t state;           /* SETT__SHOT_*; 0: not filled yet */
    const atomic_uint *gate; /* the engine's; the owner of the shot sets it */
    uint8_t cluster[3];      /* in the next line, since only CLUSTERED uses it */
    uint16_t n_place;        /* likewise APART */
    const uint16_t *place;
} sett__shot;
/* ENTERED: the device's context must be the current one, whatever the stream. */
enum { SETT__SHOT_LOADED = 1, SETT__SHOT_CLUSTERED = 2, SETT__SHOT_EARLY = 4, SETT__SHOT_ENTERED = 8, SETT__SHOT_COOPERATIVE = 16, SETT__SHOT_APART = 32 };
static_assert(offsetof(sett__shot, cluster) == 64, "one line");
/* occupancy.c: how many clusters of such a launch the device runs at once; of a kernel without clusters, blocks. */
sett_status sett__cuda_active(sett__cuda *, int device, void *function, const sett__launch_dims *, int *n, sett_error *);
/* What a tensor map's recipe is at one launch. */
typedef struct sett__map_facts {
    const void *address;
    uint64_t extent[SETT__MAP_RANK], stride[SETT__MAP_RANK - 1]; /* stride: in bytes, of mode 1 on */
} sett__map_facts;
/* maps.c: a CUtensorMap. SETT_E_DRIVER: the driver has no such call, or refuses; the text names kernel, tensor and map. */
sett_status sett__cuda_map(sett__cuda *, int device, const char *kernel, const char *tensor, const sett__map *, const sett__map_facts *, void *to, sett_error *);
/* All but its gate, and the address at the end of the packed block of a kernel with assertions. function: NULL, or what
 * sett__gpu_function gave; without it code that is not on the device yet is loaded, unless the stream is under capture:
 * SETT_E_CAPTURING. Where it fails the shot is as it was. */
sett_status sett__gpu_aim(sett__shot *, sett__gpu_kernel *, void *function, sett_stream, const sett__launch_dims *, void *params,
    size_t params_len, sett_error *);
/* Hands over each parameter by itself and not the block, of a kernel with tensor maps: what is aligned to 64 bytes lies elsewhere
 * in the driver's block than in ours, where depends on the machine. place: where in our block the n of them lie; it lives as long as
 * the shot. */
void sett__gpu_apart(sett__shot *, const uint16_t *place, uint16_t n);
/* cuLaunchKernelEx. The caller's current context and errno are left as found. */
sett_status sett__gpu_shoot(const sett__shot *, void *stream, void *params, sett_error *);

/* cuda/graph.c: launches one after another as a CUDA graph, whose nodes take other arguments in place. For one thread at a time. */
typedef struct sett__cuda_graph sett__cuda_graph;
typedef struct sett__cuda_graph_node {
    const sett__shot *shot; /* NULL: nothing to launch; made so, no other shot takes its place later */
    void *params;           /* its packed block */
    bool same;              /* for sett__cuda_graph_set: as before */
} sett__cuda_graph_node;
bool sett__cuda_graphs(const sett__cuda *); /* does the driver have the calls? */
/* May be called while streams are captured. On failure *failed is the node that could not be launched, or -1. */
sett_status sett__cuda_graph_make(sett__cuda *, int device, int n, const sett__cuda_graph_node *, sett__cuda_graph **, int *failed, sett_error *);
/* Can this node get the arguments of that shot in place? Not with another cluster. shot NULL: nothing to launch, for the time being. */
bool sett__cuda_graph_takes(const sett__cuda_graph *, int node, const sett__shot *);
/* Gives its nodes what they take; returns how many got it in *set. Queued launches of the graph keep their arguments. On failure *failed is
 * the node, or -1, and the graph is to be freed: what it would launch is not known. */
sett_status sett__cuda_graph_set(sett__cuda_graph *, const sett__cuda_graph_node *, int *set, int *failed, sett_error *);
sett_status sett__cuda_graph_launch(const sett__cuda_graph *, void *stream, sett_error *);
void sett__cuda_graph_free(sett__cuda_graph *); /* NULL is ignored */
/* Is a stream of this device captured? */
sett_status sett__cuda_capturing(sett__cuda *, sett_stream, bool *, sett_error *);

/* cuda/timing.c: microseconds of each iteration, by events. once issues the work of one iteration on the stream that it is
 * given. graph: once is called once and captured; the graph is replayed on a stream of its own. All work has ended when the
 * call returns. */
typedef struct sett__timing {
    bool graph;
    int warmup, iterations;
    sett_status (*once)(void *user, sett_stream, sett_error *);
    void *user;
} sett__timing;
sett_status sett__cuda_time(sett__cuda *, sett_stream, const sett__timing *, double *us, sett_error *);
uint64_t sett__cuda_cache(const sett__cuda *, int device); /* bytes of its L2; 0: unknown */
const char *sett__cuda_name(const sett__cuda *, int device); /* of a device that exists */

#endif
