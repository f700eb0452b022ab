/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fake/fake_cuda.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { GPUS = 8, DEPTH = 16, LAUNCHES = 1024 };
enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, LAUNCH_OUT_OF_RESOURCES = 701,
    CAPTURE_UNSUPPORTED = 900, CAPTURE_IMPLICIT = 906, REFUSED = 999 };

typedef struct context {
    struct context *next;
    int device;
} context;
typedef struct config {
    unsigned grid[3], block[3], smem;
    void *stream, *attrs;
    unsigned n_attrs;
} config;
typedef struct kept { /* a launch that a graph holds, with the arguments that it had: a node */
    config config;
    fake_launch asked; /* its attributes */
    void *kernel;
    context *context;
    int at; /* in the graph */
    bool off;
    size_t len;
    unsigned char params[4096];
} kept;
typedef struct graph {
    int n;
    kept *launch[LAUNCHES];
} graph;
typedef struct node_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void *function;
    unsigned dims[7];
    void **params, **extra;
    void *kernel, *context;
} node_params;
typedef struct stream {
    context *context;
    graph *capture; /* NULL: not captured */
    int mode;
} stream;
typedef struct code { /* a library, module, kernel and function in one */
    struct code *next;  /* of those that are loaded */
    context *context;   /* of a module; NULL: a library, for all */
    unsigned char *copy; /* of the ELF header: the caller's bytes may go */
} code;

EXPORT fake_state fake_cuda;
EXPORT int fake_cuda_result; /* of the next loads and waits: 0, or an error */
static context primary[GPUS];
static context *green;
static size_t touched; /* bytes that a launch writes: $FAKE_CUDA_TOUCH, in KiB, at most 8192 */
static _Atomic int captured, strict; /* streams that are captured; those of them that are not relaxed */
static __attribute__((tls_model("initial-exec"))) _Thread_local context *stack[DEPTH];
static __attribute__((tls_model("initial-exec"))) _Thread_local int depth, mode;

static context *current(void)
{
    return depth ? stack[depth - 1] : NULL;
}
/* Threads count at once. */
#define COUNT(field, n) ((void)__atomic_add_fetch(&fake_cuda.field, n, __ATOMIC_RELAXED))
/* A call's result, counted if it is an error. */
static int answer(const char *call, int result)
{
    if (result) {
        COUNT(failures, 1);
        fake_cuda.failed = call;
    }
    return result;
}
#define ANSWER(result) answer(__func__, result)
static bool refuses(const char *call)
{
    return fake_cuda.refused && !strcmp(fake_cuda.refused, call);
}
/* Of what runs in the current context: there is one, and then the answer. */
#define IN_CONTEXT(result) ANSWER(current() ? (result) : INVALID_CONTEXT)
static bool is_default(const void *s)
{
    return (uintptr_t)s <= 2;
}
static context *context_of(void *s) /* that work on a stream runs in; NULL: none */
{
    return is_default(s) ? current() : ((stream *)s)->context;
}
static bool forbidden(void) /* what a capture in global mode forbids every thread, unless its own mode is relaxed */
{
    return strict && mode != 2;
}

static int version(void)
{
    return fake_cuda.version ? fake_cuda.version : 13000;
}

/* ---- devices and contexts ------------------------------------------------------------ */
EXPORT int cuInit(unsigned flags)
{
    const char *env = getenv("FAKE_CUDA_GPUS");
    if (!fake_cuda.gpus)
        fake_cuda.gpus = env ? atoi(env) : 2;
    env = getenv("FAKE_CUDA_TOUCH");
    touched = env ? (size_t)atoi(env) % 8193 << 10 : 0;
    for (int i = 0; i < GPUS; i++)
        primary[i].device = i;
    return ANSWER(flags ? INVALID_VALUE : 0);
}
EXPORT int cuDriverGetVersion(int *v) { return *v = version(), 0; }
EXPORT int cuDeviceGetCount(int *n) { return *n = fake_cuda.gpus, 0; }
EXPORT int cuDeviceGet(int *d, int i) { return ANSWER(i < 0 || i >= fake_cuda.gpus ? NO_DEVICE + 1 : (*d = i, 0)); }
EXPORT int cuDeviceGetName(char *name, int len, int d)
{
    return snprintf(name, (size_t)len, "fake %d", d) < 0;
}
EXPORT int cuDeviceGetAttribute(int *v, int attribute, int d)
{
    (void)d;
    *v = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? (fake_cuda.optin ? fake_cuda.optin : 232448) : attribute == 16 ? 132 : 1 << 20;
    return 0;
}
EXPORT int cuGetErrorName(int r, const char **s) { return *s = r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", 0; }
EXPORT int cuGetErrorString(int r, const char **s) { return *s = r ? "something" : "nothing", 0; }
EXPORT int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = &primary[d], 0; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int d) { return (void)d, 0; }
EXPORT int cuCtxGetCurrent(void **c) { return *c = current(), 0; }
EXPORT int cuCtxGetDevice(int *d) { return IN_CONTEXT((*d = current()->device, 0)); }
EXPORT int cuCtxPushCurrent_v2(void *c)
{
    if (depth == DEPTH)
        return ANSWER(OUT_OF_MEMORY);
    COUNT(context_changes, 1);
    stack[depth++] = c;
    return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **c) { return IN_CONTEXT((*c = stack[--depth], 0)); }
EXPORT int cuCtxSetCurrent(void *c)
{
    depth -= depth > 0;
    if (c)
        stack[depth++] = c;
    return 0;
}
EXPORT int cuCtxGetId(void *c, unsigned long long *id) { return *id = (uintptr_t)c, 0; }
EXPORT int cuCtxSynchronize(void) { return IN_CONTEXT(0); }
EXPORT void *fake_green(int device)
{
    context *c = calloc(1, sizeof *c);
    if (c)
        c->device = device, c->next = green, green = c;
    return c;
}

/* ---- what it has ---------------------------------------------------------------------- */
/* As the driver's: a name that is newer than it is not found, and one that it was asked for with a newer interface than its own
 * is an error. */
EXPORT int cuGetProcAddress_v2(const char *name, void **to, int wanted, uint64_t flags, int *status)
{
    static const struct {
        const char *name;
        int since;
    } newer[] = {{"cuFuncLoad", 12040}, {"cuLibrary", 12000}, {"cuKernel", 12000}, {"cuCtxGetId", 12000}, {"cuTensorMap", 12000}, {"cuGraphKernelNode", 12000}, {"cuGraphExecKernelNode", 12000}};
    char versioned[64];
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *to = NULL;
    *status = 1;
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (!strncmp(name, newer[i].name, strlen(newer[i].name)) && newer[i].since > version())
            return ANSWER(NOT_FOUND);
    if (!self || flags || wanted > version())
        return ANSWER(INVALID_VALUE);
    snprintf(versioned, sizeof versioned, "%s_v3", name);
    *to = wanted >= 12030 ? dlsym(self, versioned) : NULL;
    snprintf(versioned, sizeof versioned, "%s_v2", name);
    *to = *to ? *to : dlsym(self, versioned);
    *to = *to ? *to : dlsym(self, name);
    dlclose(self);
    *status = *to ? 0 : 1;
    return ANSWER(*to ? 0 : NOT_FOUND);
}

/* ---- events: at once, a microsecond apart --------------------------------------------- */
EXPORT int cuEventCreate(void **event, unsigned flags)
{
    *event = current() ? calloc(1, sizeof(long)) : NULL;
    return (void)flags, IN_CONTEXT(*event ? 0 : OUT_OF_MEMORY);
}
EXPORT int cuEventRecord(void *event, void *s)
{
    static long now;
    *(long *)event = ++now;
    return ANSWER(context_of(s) ? 0 : INVALID_CONTEXT);
}
EXPORT int cuEventElapsedTime(float *ms, void *from, void *to) { return *ms = (float)(*(long *)to - *(long *)from) / 1e3f, IN_CONTEXT(0); }
EXPORT int cuEventDestroy_v2(void *event) { return free(event), 0; }

/* ---- memory -------------------------------------------------------------------------------- */
EXPORT int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
    if (!current() || forbidden())
        return IN_CONTEXT(CAPTURE_UNSUPPORTED);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    *p = (uintptr_t)memory;
    return ANSWER(memory ? 0 : OUT_OF_MEMORY);
}
EXPORT int cuMemFree_v2(uint64_t p) { return IN_CONTEXT(forbidden() ? CAPTURE_UNSUPPORTED : (free((void *)(uintptr_t)p), 0)); }
EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t n, void *s)
{
    return ANSWER(context_of(s) ? (memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n), 0) : INVALID_CONTEXT);
}
EXPORT int cuMemHostRegister_v2(void *p, size_t n, unsigned flags) { return (void)p, (void)n, (void)flags, IN_CONTEXT(0); }
EXPORT int cuMemHostUnregister(void *p) { return (void)p, IN_CONTEXT(0); }
EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *to, void *p, unsigned flags) { return (void)flags, IN_CONTEXT((*to = (uintptr_t)p, 0)); }

/* ---- streams, captures, graphs ----------------------------------------------------------------- */
EXPORT int cuStreamCreate(void **s, unsigned flags)
{
    stream *made = current() ? calloc(1, sizeof *made) : NULL;
    (void)flags;
    if (!made)
        return IN_CONTEXT(OUT_OF_MEMORY);
    made->context = current();
    return *s = made, 0;
}
EXPORT int cuStreamDestroy_v2(void *s) { return free(s), 0; }
EXPORT int cuStreamSynchronize(void *s)
{
    if (!context_of(s))
        return ANSWER(INVALID_CONTEXT);
    return ANSWER(!is_default(s) && ((stream *)s)->capture ? CAPTURE_UNSUPPORTED : fake_cuda_result);
}
EXPORT int cuStreamIsCapturing(void *s, int *yes)
{
    *yes = !is_default(s) && ((stream *)s)->capture;
    return ANSWER(!context_of(s) ? INVALID_CONTEXT : is_default(s) && strict ? CAPTURE_IMPLICIT : 0);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *m)
{
    int was = mode;
    mode = *m;
    return *m = was, 0;
}
EXPORT int cuStreamBeginCapture_v2(void *s, int m)
{
    stream *st = s;
    if (is_default(s) || st->capture || !(st->capture = calloc(1, sizeof(graph))))
        return ANSWER(CAPTURE_UNSUPPORTED);
    st->mode = m;
    strict += m != 2;
    captured++;
    return 0;
}
EXPORT int cuStreamEndCapture(void *s, void **g)
{
    stream *st = s;
    *g = st->capture;
    if (!st->capture)
        return ANSWER(INVALID_VALUE);
    strict -= st->mode != 2;
    captured--;
    st->capture = NULL;
    COUNT(graphs, 1);
    return 0;
}
/* The node that the next one would wait for: the last of the capture. */
EXPORT int cuStreamGetCaptureInfo_v2(void *s, int *status, uint64_t *id, void **g, void *const **before, size_t *n)
{
    static __attribute__((tls_model("initial-exec"))) _Thread_local void *last;
    graph *of = is_default(s) ? NULL : ((stream *)s)->capture;
    last = of && of->n ? of->launch[of->n - 1] : NULL;
    *status = of != NULL, *id = (uintptr_t)of, *g = of, *before = &last, *n = last != NULL;
    return ANSWER(refuses(__func__) ? REFUSED : 0);
}
EXPORT int cuStreamGetCaptureInfo_v3(void *s, int *status, uint64_t *id, void **g, void *const **before, const void **edges, size_t *n)
{
    *edges = NULL;
    return cuStreamGetCaptureInfo_v2(s, status, id, g, before, n);
}
EXPORT int cuGraphGetNodes(void *g, void **nodes, size_t *n)
{
    const graph *of = g;
    for (int i = 0; nodes && i < of->n; i++)
        nodes[i] = of->launch[i];
    return *n = (size_t)of->n, 0;
}
static int drop(graph *g)
{
    for (int i = 0; i < g->n; i++)
        free(g->launch[i]);
    free(g);
    COUNT(graphs, -1);
    return 0;
}
EXPORT int cuGraphInstantiateWithFlags(void **exec, void *g, unsigned long long flags)
{
    const graph *from = g;
    if (flags || refuses(__func__))
        return ANSWER(flags ? INVALID_VALUE : REFUSED);
    graph *copy = current() ? calloc(1, sizeof *copy) : NULL;
    if (!copy)
        return IN_CONTEXT(OUT_OF_MEMORY);
    COUNT(graphs, 1);
    for (; copy->n < from->n; copy->n++) {
        if (!(copy->launch[copy->n] = malloc(sizeof(kept))))
            return drop(copy), ANSWER(OUT_OF_MEMORY);
        *copy->launch[copy->n] = *from->launch[copy->n];
    }
    return *exec = copy, 0;
}
EXPORT int cuGraphDestroy(void *g) { return drop(g); }
EXPORT int cuGraphExecDestroy(void *g) { return drop(g); }

/* ---- code --------------------------------------------------------------------------------------- */
/* What is loaded stays until it is unloaded, and a driver knows it: to LeakSanitizer it is not lost. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static code *loaded_code;
static void know(code *c)
{
    pthread_mutex_lock(&lock);
    c->next = loaded_code;
    loaded_code = c;
    pthread_mutex_unlock(&lock);
}
static void forget(const code *c)
{
    pthread_mutex_lock(&lock);
    code **at = &loaded_code;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    pthread_mutex_unlock(&lock);
}
static int load(void **to, const void *image, context *of)
{
    enum { ELF_HEADER = 64 };
    code *c = calloc(1, sizeof *c);
    if (forbidden() || fake_cuda_result) {
        free(c);
        return forbidden() ? CAPTURE_UNSUPPORTED : fake_cuda_result;
    }
    if (!c || !(c->copy = malloc(ELF_HEADER))) {
        free(c);
        return OUT_OF_MEMORY;
    }
    memcpy(c->copy, image, ELF_HEADER);
    c->context = of;
    know(c);
    COUNT(loads, 1);
    COUNT(loaded, ELF_HEADER);
    return *to = c, 0;
}
static int unload(code *c)
{
    forget(c);
    free(c->copy);
    free(c);
    return 0;
}
EXPORT int cuLibraryLoadData(
    void **library, const void *image, int *a, void **b, unsigned n, int *d, void **e, unsigned m)
{
    (void)a, (void)b, (void)d, (void)e;
    return ANSWER(n || m ? INVALID_VALUE : load(library, image, NULL));
}
EXPORT int cuLibraryUnload(void *c) { return unload(c); }
EXPORT int cuLibraryGetKernel(void **kernel, void *library, const char *name) { return (void)name, *kernel = library, 0; }
EXPORT int cuLibraryEnumerateKernels(void **kernels, unsigned n, void *library) { return ANSWER(n ? (*kernels = library, 0) : INVALID_VALUE); }
EXPORT int cuKernelGetFunction(void **function, void *kernel)
{
    return IN_CONTEXT((COUNT(resident[current()->device], 1), *function = kernel, 0));
}
EXPORT int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    (void)attribute, (void)value, (void)kernel;
    COUNT(attributes[device], 1);
    return 0;
}
EXPORT int cuModuleLoadData(void **module, const void *image) { return IN_CONTEXT(load(module, image, current())); }
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) { return (void)name, IN_CONTEXT((*function = module, 0)); }
EXPORT int cuModuleUnload(void *c) { return IN_CONTEXT(unload(c)); }
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) { return (void)function, (void)attribute, (void)value, IN_CONTEXT(0); }
EXPORT int cuFuncLoad(void *function) { return (void)function, IN_CONTEXT(0); }

/* 132 multiprocessors that take two blocks each. */
EXPORT int cuOccupancyMaxActiveClusters(int *n, void *function, const config *g)
{
    unsigned of[3] = {1, 1, 1};
    if (g->n_attrs == 1)
        memcpy(of, (char *)g->attrs + 8, sizeof of);
    *n = (int)(264 / (of[0] * of[1] * of[2]));
    return IN_CONTEXT(function && g->n_attrs == 1 ? 0 : INVALID_VALUE);
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function, int threads, size_t smem)
{
    *n = 2;
    return (void)smem, IN_CONTEXT(function && threads > 0 ? 0 : INVALID_VALUE);
}

/* An assembler to which every PTX is the smallest cubin, with zeros behind up to $FAKE_CUDA_CUBIN bytes, 64 KiB at most. */
static const unsigned char elf[65536] = {0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 190, [20] = 1, [52] = 64};
EXPORT int cuLinkCreate_v2(unsigned n, int *options, void **values, void **to)
{
    return IN_CONTEXT(n && options && values ? (*to = &fake_cuda, 0) : INVALID_VALUE);
}
EXPORT int cuLinkAddData_v2(void *s, int type, void *p, size_t len, const char *name, unsigned n, int *options, void **values)
{
    return IN_CONTEXT(!s || !p || !len || !name || type != 1 || n || options || values);
}
EXPORT int cuLinkComplete(void *s, void **to, size_t *len)
{
    const char *env = getenv("FAKE_CUDA_CUBIN");
    size_t n = env ? (size_t)atol(env) : 0;
    *to = (void *)(uintptr_t)elf;
    *len = n > 64 && n <= sizeof elf ? n : 64;
    return IN_CONTEXT(!s);
}
EXPORT int cuLinkDestroy(void *s) { return IN_CONTEXT(!s); }

/* ---- tensor maps: the rules that the driver's manual has, and a map that says what it was made of ------------ */
EXPORT int cuTensorMapEncodeTiled(fake_map *to, int type, unsigned rank, void *address, const uint64_t *dim, const uint64_t *stride,
    const unsigned *box, const unsigned *step, int interleave, int swizzle, int l2, int fill)
{
    static const unsigned size[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    bool good = !((uintptr_t)to % 64) && type >= 0 && type <= 12 && rank >= 1 && rank <= 5 && !((uintptr_t)address % 16) && address &&
        !interleave && swizzle >= 0 && swizzle <= 3 && l2 >= 0 && l2 <= 3 && (fill == 0 || (fill == 1 && type >= 6));
    for (unsigned k = 0; good && k < rank; k++)
        good = dim[k] && dim[k] <= UINT64_C(1) << 32 && box[k] && box[k] <= 256 && step[k] && step[k] <= 8 &&
               (!k || (stride[k - 1] % 16 == 0 && stride[k - 1] < UINT64_C(1) << 40));
    good = good && box[0] * size[type] % 16 == 0 && (!swizzle || box[0] * size[type] <= 16u << swizzle);
    if (!good || !current())
        return ANSWER(good ? INVALID_CONTEXT : INVALID_VALUE);
    COUNT(maps, 1);
    *to = (fake_map){.address = address, .type = (uint8_t)type, .rank = (uint8_t)rank, .swizzle = (uint8_t)swizzle, .l2 = (uint8_t)l2,
        .fill = (uint8_t)fill};
    for (unsigned k = 0; k < rank; k++) {
        to->dim[k] = dim[k], to->box[k] = (uint16_t)box[k], to->step[k] = (uint8_t)step[k];
        to->stride[k] = k ? stride[k - 1] : 0;
    }
    return 0;
}

/* ---- launches ------------------------------------------------------------------------------------ */
static int run(const config *g, const fake_launch *asked, context *in, code *kernel, const void *params, size_t len)
{
    if (kernel->context && kernel->context != in)
        return INVALID_HANDLE;
    fake_launch l = *asked;
    memcpy(l.grid, g->grid, sizeof l.grid), memcpy(l.block, g->block, sizeof l.block);
    l.smem = g->smem, l.device = in->device, l.context = in, l.code = kernel->copy, l.params = params, l.params_len = len;
    if (fake_cuda.kernel)
        fake_cuda.kernel(fake_cuda.user, &l);
    return 0;
}
/* A driver leaves little of its caller's in the caches. */
static void touch(void)
{
    static volatile char memory[8 << 20];
    for (size_t i = 0; i < touched; i += 64)
        memory[i]++;
}
/* The bytes of parameters as code has them; given: by the caller, of len bytes. -1: not so many. */
static int64_t laid_out(unsigned char *to, void **each, const void *given, size_t len)
{
    enum { FROM = 0x210 };
    size_t at = 0;
    for (int i = 0; fake_cuda.sizes[i]; i++) {
        const size_t size = fake_cuda.sizes[i], align = size == 128 ? 64 : size;
        at = (FROM + at + align - 1) / align * align - FROM;
        if (each)
            memcpy(to + at, each[i], size);
        at += size;
    }
    if (!each && len == at)
        memcpy(to, given, len);
    return each || len == at ? (int64_t)at : -1;
}
/* What a launch or a node is handed, as code has it; more than `to` has room for is no launch's. */
static int take_params(unsigned char to[4096], size_t *len, void **params, void **extra)
{
    const size_t given = extra ? *(size_t *)extra[3] : 0;
    if (given > 4096 || (params && extra))
        return INVALID_VALUE;
    memset(to, 0, 4096);
    const int64_t own = fake_cuda.sizes ? laid_out(to, params, extra ? extra[1] : NULL, given) : (int64_t)given;
    if (own < 0)
        return LAUNCH_OUT_OF_RESOURCES;
    if (!fake_cuda.sizes && given)
        memcpy(to, extra[1], given);
    return *len = (size_t)own, 0;
}
static int keep(graph *to, const config *g, const fake_launch *asked, context *in, void *kernel, const void *params, size_t len)
{
    kept *k = to->n < LAUNCHES ? calloc(1, sizeof *k) : NULL;
    if (!k)
        return OUT_OF_MEMORY;
    *k = (kept){.config = *g, .asked = *asked, .kernel = kernel, .context = in, .at = to->n, .len = len};
    memcpy(k->params, params, len);
    to->launch[to->n++] = k;
    return 0;
}
static void attributes(const config *g, fake_launch *to) /* CUlaunchAttribute: its id, and from byte 8 on its value */
{
    for (unsigned i = 0; i < g->n_attrs; i++) {
        int id, value;
        const char *at = (const char *)g->attrs + 72 * i;
        memcpy(&id, at, sizeof id);
        memcpy(&value, at + 8, sizeof value);
        if (id == 4)
            memcpy(to->cluster, at + 8, sizeof to->cluster);
        to->early |= id == 6 && value == 1;
        to->cooperative |= id == 2 && value == 1;
    }
}
EXPORT int cuLaunchKernelEx(const config *g, void *kernel, void **params, void **extra)
{
    context *in = context_of(g->stream);
    fake_launch asked = {0};
    if (!in)
        return ANSWER(INVALID_CONTEXT);
    COUNT(launches, 1);
    attributes(g, &asked);
    COUNT(early, asked.early);
    if (touched)
        touch();
    if (!fake_cuda.kernel && !captured) /* benchmarks: at once */
        return 0;
    unsigned char laid[4096];
    size_t len = 0;
    const int r = take_params(laid, &len, params, extra);
    if (r)
        return ANSWER(r);
    if (!is_default(g->stream) && ((stream *)g->stream)->capture)
        return ANSWER(keep(((stream *)g->stream)->capture, g, &asked, in, kernel, laid, len));
    return ANSWER(run(g, &asked, in, kernel, laid, len));
}

/* ---- graphs: a node's own kernel and context, whatever the stream ---------------------------------------- */
EXPORT int cuGraphLaunch(void *exec, void *s)
{
    const graph *g = exec;
    int r = refuses(__func__) ? REFUSED : !context_of(s) ? INVALID_CONTEXT : !is_default(s) && ((stream *)s)->capture ? CAPTURE_UNSUPPORTED : 0;
    COUNT(graph_launches, !r);
    for (int i = 0; i < g->n && !r && fake_cuda.kernel; i++) {
        const kept *k = g->launch[i];
        if (!k->off)
            r = run(&k->config, &k->asked, k->context, k->kernel, k->params, k->len);
    }
    return ANSWER(r);
}
EXPORT int cuGraphKernelNodeGetParams_v2(void *node, node_params *to)
{
    kept *k = node;
    *to = (node_params){.kernel = k->kernel, .context = k->context, .params = (void **)k->params};
    memcpy(to->dims, k->config.grid, sizeof to->dims);
    return ANSWER(refuses(__func__) ? REFUSED : 0);
}
/* As the driver's: of the graph that was instantiated, and the same kernel in the same context. Without a current context that of 580 crashes. */
EXPORT int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const node_params *from)
{
    const kept *named = node;
    kept *k = ((graph *)exec)->launch[named->at];
    size_t len = 0;
    unsigned char laid[4096];
    int r = refuses(__func__) ? REFUSED : !current() ? INVALID_CONTEXT : k->kernel != named->kernel || from->function || from->kernel != k->kernel || from->context != k->context ||
        !from->dims[0] || !from->dims[1] || !from->dims[2] ? INVALID_VALUE : take_params(laid, &len, from->params, from->extra);
    if (r || len != k->len)
        return ANSWER(r ? r : INVALID_VALUE);
    memcpy(k->params, laid, len);
    memcpy(k->config.grid, from->dims, sizeof from->dims);
    COUNT(node_updates, 1);
    return 0;
}
EXPORT int cuGraphNodeSetEnabled(void *exec, void *node, unsigned on)
{
    if (refuses(__func__))
        return ANSWER(REFUSED);
    ((graph *)exec)->launch[((const kept *)node)->at]->off = !on;
    COUNT(node_updates, 1);
    return 0;
}
