/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: time, medians, and the CUDA driver by dlopen for what sett is compared with. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H
#include <dlfcn.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Sorts v. */
static inline double quantile(double *v, int n, double q)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[(int)(q * (n - 1) + 0.5)];
}

static inline uint64_t random_next(uint64_t *s)
{
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s;
}

static inline void must(sett_status s, const sett_error *e)
{
    if (s) {
        fprintf(stderr, "%s\n", e && e->text[0] ? e->text : sett_status_text(s));
        exit(1);
    }
}

/* Without a GPU and without a disk cache. */
static inline sett_engine *bench_engine(void)
{
    sett_engine *e;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    must(sett_engine_open(&e, &eo, &err), &err);
    return e;
}

/* The driver's own interface, as much of it as the raw peers take. */
typedef struct raw_config {
    unsigned grid[3], block[3], smem;
    void *stream, *attrs;
    unsigned n_attrs;
} raw_config;
typedef struct driver {
    int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*set_current)(void *), (*sync)(void);
    int (*library_load)(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
    int (*kernels)(void **, unsigned, void *);
    int (*launch)(const raw_config *, void *, void **, void **);
    int (*mem_alloc)(uint64_t *, size_t);
} driver;

static inline bool driver_open(driver *d)
{
    void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return false;
    const struct {
        void **to;
        const char *name;
    } names[] = {{(void **)&d->init, "cuInit"}, {(void **)&d->device_get, "cuDeviceGet"},
        {(void **)&d->retain, "cuDevicePrimaryCtxRetain"}, {(void **)&d->set_current, "cuCtxSetCurrent"},
        {(void **)&d->sync, "cuCtxSynchronize"}, {(void **)&d->library_load, "cuLibraryLoadData"},
        {(void **)&d->kernels, "cuLibraryEnumerateKernels"}, {(void **)&d->launch, "cuLaunchKernelEx"},
        {(void **)&d->mem_alloc, "cuMemAlloc_v2"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].to = dlsym(so, names[i].name)))
            return false;
    return true;
}
/* cuInit, primary context current. */
static inline bool driver_start(driver *d)
{
    int dev;
    void *ctx;
    return driver_open(d) && !d->init(0) && !d->device_get(&dev, 0) && !d->retain(&ctx, dev) && !d->set_current(ctx);
}
static inline void *driver_kernel(driver *d, const void *cubin)
{
    void *library, *kernel = NULL;
    return d->library_load(&library, cubin, NULL, NULL, 0, NULL, NULL, 0) || d->kernels(&kernel, 1, library) ? NULL : kernel;
}

/* CUDA's own run-time compiler, as a peer and as a reference. */
typedef struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *), (*size)(void *, size_t *), (*get)(void *, char *), (*destroy)(void **);
    int (*version)(int *, int *);
} nvrtc;

static inline bool nvrtc_open(nvrtc *n)
{
    void *so = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        so = dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return false;
    *(void **)&n->create = dlsym(so, "nvrtcCreateProgram"), *(void **)&n->compile = dlsym(so, "nvrtcCompileProgram");
    *(void **)&n->size = dlsym(so, "nvrtcGetCUBINSize"), *(void **)&n->get = dlsym(so, "nvrtcGetCUBIN");
    *(void **)&n->destroy = dlsym(so, "nvrtcDestroyProgram"), *(void **)&n->version = dlsym(so, "nvrtcVersion");
    return n->version && n->create && n->compile && n->size && n->get && n->destroy;
}
#endif
