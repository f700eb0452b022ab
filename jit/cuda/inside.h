/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver as sett uses it: our own prototypes of the few functions that are called, with the
 * numbers of its published API, so that neither its header nor its library is needed to build. */
#ifndef SETT_CUDA_H
#define SETT_CUDA_H
#include "cuda.h"
#include <pthread.h>
#include <unistd.h>

typedef int sett__cu;              /* CUresult, CUdevice and the driver's enums */
typedef void *sett__cu_handle;     /* CUcontext, CUstream, CUmodule, CUlibrary, CUkernel, CUfunction, CUlinkState */
typedef uint64_t sett__cu_pointer; /* CUdeviceptr */

/* CUresult */
enum {
    SETT__CU_DEINITIALIZED = 4, SETT__CU_NO_DEVICE = 100, SETT__CU_INVALID_CONTEXT = 201,
    SETT__CU_CAPTURE_FIRST = 900, SETT__CU_CAPTURE_LAST = 908,
};
/* CUdevice_attribute, CUfunction_attribute, CUjit_option, CUjitInputType, CUlaunchAttributeID, CUstreamCaptureMode */
enum {
    SETT__CU_CC_MAJOR = 75, SETT__CU_CC_MINOR = 76, SETT__CU_SMEM_OPTIN = 97, SETT__CU_SMS = 16, SETT__CU_L2_BYTES = 38,
    SETT__CU_MAX_DYNAMIC_SMEM = 8, SETT__CU_BIG_CLUSTER = 14, /* NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
    SETT__CU_JIT_INFO = 3, SETT__CU_JIT_INFO_SIZE = 4, SETT__CU_JIT_ERROR = 5, SETT__CU_JIT_ERROR_SIZE = 6,
    SETT__CU_JIT_LEVEL = 7, SETT__CU_JIT_TARGET = 9, SETT__CU_JIT_VERBOSE = 12, SETT__CU_JIT_LINES = 13,
    SETT__CU_INPUT_PTX = 1,
    SETT__CU_ATTR_COOPERATIVE = 2, SETT__CU_ATTR_CLUSTER = 4, SETT__CU_ATTR_EARLY = 6, /* PROGRAMMATIC_STREAM_SERIALIZATION */
    SETT__CU_CAPTURE_THREAD = 1, SETT__CU_CAPTURE_RELAXED = 2,
    SETT__CU_HOST_PORTABLE_MAPPED = 3, /* CU_MEMHOSTREGISTER_PORTABLE | _DEVICEMAP */
    SETT__CU_STREAM_NON_BLOCKING = 1,
};

typedef struct sett__cu_attr { /* CUlaunchAttribute */
    int id;
    char pad[4];
    union {
        struct { uint32_t x, y, z; } cluster;
        int early;
        int cooperative;
        char bytes[64];
    } value;
} sett__cu_attr;
typedef struct sett__cu_config { /* CUlaunchConfig */
    uint32_t grid[3], block[3], smem;
    sett__cu_handle stream;
    sett__cu_attr *attrs;
    uint32_t n_attrs;
} sett__cu_config;
typedef struct sett__cu_node { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    sett__cu_handle function;
    uint32_t dims[7]; /* grid, block, shared memory */
    void **params, **extra;
    sett__cu_handle kernel, context; /* where function is NULL */
} sett__cu_node;
static_assert(sizeof(sett__cu_attr) == 72 && sizeof(sett__cu_config) == 56 && sizeof(sett__cu_node) == 72, "the driver's ABI");

/* Every function of the driver that we look up, those of a launch first: the name that cuGetProcAddress knows, the name that the library exports, the
 * version whose ABI we speak, whether we cannot do without, its parameters. */
#define SETT__CU_FUNCTIONS(X) \
    X(launch, "cuLaunchKernelEx", "cuLaunchKernelEx", 11060, 1, \
        (const sett__cu_config *, sett__cu_handle, void **, void **)) \
    X(ctx_get, "cuCtxGetCurrent", "cuCtxGetCurrent", 4000, 1, (sett__cu_handle *)) \
    X(device_count, "cuDeviceGetCount", "cuDeviceGetCount", 2000, 1, (int *)) \
    X(device_get, "cuDeviceGet", "cuDeviceGet", 2000, 1, (sett__cu *, int)) \
    X(device_name, "cuDeviceGetName", "cuDeviceGetName", 2000, 1, (char *, int, sett__cu)) \
    X(device_attr, "cuDeviceGetAttribute", "cuDeviceGetAttribute", 2000, 1, (int *, sett__cu, sett__cu)) \
    X(error_name, "cuGetErrorName", "cuGetErrorName", 6000, 1, (sett__cu, const char **)) \
    X(error_string, "cuGetErrorString", "cuGetErrorString", 6000, 1, (sett__cu, const char **)) \
    X(retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, 1, (sett__cu_handle *, sett__cu)) \
    X(ctx_device, "cuCtxGetDevice", "cuCtxGetDevice", 2000, 1, (sett__cu *)) \
    X(ctx_push, "cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000, 1, (sett__cu_handle)) \
    X(ctx_pop, "cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000, 1, (sett__cu_handle *)) \
    X(ctx_id, "cuCtxGetId", "cuCtxGetId", 12000, 0, (sett__cu_handle, unsigned long long *)) \
    X(alloc, "cuMemAlloc", "cuMemAlloc_v2", 3020, 1, (sett__cu_pointer *, size_t)) \
    X(free, "cuMemFree", "cuMemFree_v2", 3020, 1, (sett__cu_pointer)) \
    X(copy, "cuMemcpyAsync", "cuMemcpyAsync", 4000, 1, (sett__cu_pointer, sett__cu_pointer, size_t, sett__cu_handle)) \
    X(host_register, "cuMemHostRegister", "cuMemHostRegister_v2", 6050, 1, (void *, size_t, unsigned)) \
    X(host_unregister, "cuMemHostUnregister", "cuMemHostUnregister", 4000, 1, (void *)) \
    X(host_pointer, "cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2", 3020, 1, \
        (sett__cu_pointer *, void *, unsigned)) \
    X(stream_sync, "cuStreamSynchronize", "cuStreamSynchronize", 2000, 1, (sett__cu_handle)) \
    X(capturing, "cuStreamIsCapturing", "cuStreamIsCapturing", 10000, 1, (sett__cu_handle, sett__cu *)) \
    X(library_unload, "cuLibraryUnload", "cuLibraryUnload", 12000, 0, (sett__cu_handle)) \
    X(module_unload, "cuModuleUnload", "cuModuleUnload", 2000, 1, (sett__cu_handle)) \
    X(capture_mode, "cuThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode", 10010, 0, (sett__cu *)) \
    X(module_load, "cuModuleLoadData", "cuModuleLoadData", 2000, 1, (sett__cu_handle *, const void *)) \
    X(module_function, "cuModuleGetFunction", "cuModuleGetFunction", 2000, 1, \
        (sett__cu_handle *, sett__cu_handle, const char *)) \
    X(function_attr, "cuFuncSetAttribute", "cuFuncSetAttribute", 9000, 1, (sett__cu_handle, sett__cu, int)) \
    X(function_load, "cuFuncLoad", "cuFuncLoad", 12040, 0, (sett__cu_handle)) \
    X(library_load, "cuLibraryLoadData", "cuLibraryLoadData", 12000, 0, (sett__cu_handle *, const void *, \
        sett__cu *, void **, unsigned, sett__cu *, void **, unsigned)) \
    X(library_kernel, "cuLibraryGetKernel", "cuLibraryGetKernel", 12000, 0, \
        (sett__cu_handle *, sett__cu_handle, const char *)) \
    X(kernel_function, "cuKernelGetFunction", "cuKernelGetFunction", 12000, 0, (sett__cu_handle *, sett__cu_handle)) \
    X(kernel_attr, "cuKernelSetAttribute", "cuKernelSetAttribute", 12000, 0, \
        (sett__cu, int, sett__cu_handle, sett__cu)) \
    X(tensor_map, "cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled", 12000, 0, (void *, sett__cu, uint32_t, void *, const uint64_t *, \
        const uint64_t *, const uint32_t *, const uint32_t *, sett__cu, sett__cu, sett__cu, sett__cu)) \
    X(max_clusters, "cuOccupancyMaxActiveClusters", "cuOccupancyMaxActiveClusters", 11080, 0, (int *, sett__cu_handle, const sett__cu_config *)) \
    X(max_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, 0, \
        (int *, sett__cu_handle, int, size_t)) \
    X(link_create, "cuLinkCreate", "cuLinkCreate_v2", 6050, 0, (unsigned, sett__cu *, void **, sett__cu_handle *)) \
    X(link_add, "cuLinkAddData", "cuLinkAddData_v2", 6050, 0, \
        (sett__cu_handle, sett__cu, void *, size_t, const char *, unsigned, sett__cu *, void **)) \
    X(link_complete, "cuLinkComplete", "cuLinkComplete", 5050, 0, (sett__cu_handle, void **, size_t *)) \
    X(link_destroy, "cuLinkDestroy", "cuLinkDestroy", 5050, 0, (sett__cu_handle)) \
    X(event_create, "cuEventCreate", "cuEventCreate", 2000, 0, (sett__cu_handle *, unsigned)) \
    X(event_record, "cuEventRecord", "cuEventRecord", 2000, 0, (sett__cu_handle, sett__cu_handle)) \
    X(event_elapsed, "cuEventElapsedTime", "cuEventElapsedTime", 2000, 0, (float *, sett__cu_handle, sett__cu_handle)) \
    X(event_destroy, "cuEventDestroy", "cuEventDestroy_v2", 4000, 0, (sett__cu_handle)) \
    X(stream_create, "cuStreamCreate", "cuStreamCreate", 2000, 0, (sett__cu_handle *, unsigned)) \
    X(stream_destroy, "cuStreamDestroy", "cuStreamDestroy_v2", 4000, 0, (sett__cu_handle)) \
    X(capture_begin, "cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010, 0, (sett__cu_handle, sett__cu)) \
    X(capture_end, "cuStreamEndCapture", "cuStreamEndCapture", 10000, 0, (sett__cu_handle, sett__cu_handle *)) \
    X(graph_make, "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040, 0, \
        (sett__cu_handle *, sett__cu_handle, unsigned long long)) \
    X(graph_launch, "cuGraphLaunch", "cuGraphLaunch", 10000, 0, (sett__cu_handle, sett__cu_handle)) \
    X(graph_exec_free, "cuGraphExecDestroy", "cuGraphExecDestroy", 10000, 0, (sett__cu_handle)) \
    X(graph_free, "cuGraphDestroy", "cuGraphDestroy", 10000, 0, (sett__cu_handle)) \
    X(capture_edges, "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030, 0, \
        (sett__cu_handle, sett__cu *, uint64_t *, sett__cu_handle *, const sett__cu_handle **, const void **, size_t *)) \
    X(capture_nodes, "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030, 0, \
        (sett__cu_handle, sett__cu *, uint64_t *, sett__cu_handle *, const sett__cu_handle **, size_t *)) \
    X(node_get, "cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2", 12000, 0, (sett__cu_handle, sett__cu_node *)) \
    X(node_set, "cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2", 12000, 0, \
        (sett__cu_handle, sett__cu_handle, const sett__cu_node *)) \
    X(node_enable, "cuGraphNodeSetEnabled", "cuGraphNodeSetEnabled", 11060, 0, (sett__cu_handle, sett__cu_handle, unsigned))

enum { SETT__GPUS_MAX = 64 };
typedef struct sett__gpu {
    sett__cu id;
    SETT__DEVICE_COUNTERS(SETT__COUNT_FIELD, SETT__TIME_FIELD)
    char target[16], name[96];
    int smem_optin, sms;
    _Atomic(sett__cu_handle) primary; /* retained at the first need and never given back: the user's streams and memory, and
                              * the code that we loaded, live in it and may outlive the engine */
} sett__gpu;
struct sett__cuda {
    /* What a launch reads lies in one cache line: a launch in the driver leaves little of ours in the caches. */
    int count;
#define SETT__CU_FIELD(field, name, export, version, required, args) sett__cu(*field) args;
    SETT__CU_FUNCTIONS(SETT__CU_FIELD)
#undef SETT__CU_FIELD
    void *lib;
    int version;
    sett__logger *log;
    atomic_int fault; /* the first result that the process cannot get rid of; 0: none */
    const atomic_uint *gate; /* the engine's, which outlives it; NULL: none */
    pid_t pid;
    pthread_mutex_t lock; /* over retaining, and failures */
    pthread_mutex_t loading[16];  /* over kernels' loading, each over many: kernel.c */
    struct sett__page *failures; /* report.c */
    sett__gpu gpu[SETT__GPUS_MAX];
};

/* ---- error.c ---------------------------------------------------------------------- */
/* "cuX: CUDA_ERROR_Y (N): text". A fault that the process cannot get rid of says so, and is remembered. */
sett_status sett__cuda_error(sett__cuda *, sett__cu, const char *what, sett_error *);

/* ---- kernel.c --------------------------------------------------------------------- */
/* How the driver is handed parameters: extra, a packed block of len bytes, or each, of a shot APART. NULL both: there are none. Its parts
 * point at each other: it stays where it was made. */
typedef struct sett__handed {
    void **extra, **each;
    size_t len;
    void *packed[5];
} sett__handed;
enum { SETT__EACH = 2 * SETT__MAX_PARAMS + SETT__MAX_MAPS + 1 };
static inline void sett__hand(sett__handed *h, const sett__shot *s, void *params)
{
    h->len = s->params_len;
    h->packed[0] = (void *)1, h->packed[1] = params;  /* BUFFER_POINTER */
    h->packed[2] = (void *)2, h->packed[3] = &h->len; /* BUFFER_SIZE */
    h->packed[4] = NULL;
    h->extra = h->len ? h->packed : NULL;
    h->each = NULL;
}
/* Of a shot APART instead; each: SETT__EACH of them. */
void sett__hand_each(sett__handed *, const sett__shot *, char *params, void **each);

/* ---- asserts.c ------------------------------------------------------------------------- */
/* A page for what fails in one kernel on one device, which is entered; lives until the driver is closed, as launches of a
 * kernel may be under way when its handle is freed. *to: its address on the device. */
sett_status sett__cuda_page(sett__cuda *, int device, const char *symbol, const sett__sig *, sett__cu_pointer *to,
    sett_error *);
void sett__cuda_pages_free(sett__cuda *);

/* ---- context.c ---------------------------------------------------------------------- */
/* Between enter and leave the device's context is current: the caller's own where it belongs to the device
 * (a green context too), else the primary one, pushed. */
typedef struct sett__entered { sett__cu_handle context; bool pushed; } sett__entered;
sett_status sett__cuda_enter(sett__cuda *, int device, sett__entered *, sett_error *);
/* Is the current context (NULL: none) known to be the device's, without asking? With one GPU every one is, with several the
 * primary one once it was retained. */
static inline bool sett__cuda_owns(const sett__cuda *c, int device, sett__cu_handle current)
{
    return current && (c->count == 1 || current == atomic_load_explicit(&c->gpu[device].primary, memory_order_relaxed));
}
void sett__cuda_leave(sett__cuda *, const sett__entered *);
/* Allocating and loading must not break a capture that another stream is in: meanwhile the thread's mode is relaxed. */
typedef struct sett__relaxed { sett__cu mode; bool changed; } sett__relaxed;
sett__relaxed sett__cuda_relax(sett__cuda *);
void sett__cuda_restore(sett__cuda *, const sett__relaxed *);
/* SETT_OK: the stream is not captured, nor is one that it would wait for; else SETT_E_CAPTURING with `why`. */
sett_status sett__cuda_uncaptured(sett__cuda *, sett__cu_handle stream, const char *why, sett_error *);

#endif
